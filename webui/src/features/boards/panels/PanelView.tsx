import { memo } from "react";

import { ChartPanelView } from "./ChartPanelView";
import { NumberPanelView } from "./NumberPanelView";
import { RunsPanelView } from "./RunsPanelView";
import { StoryPanelView } from "./StoryPanelView";
import type { Panel } from "./types";

/** A panel with live data. The same panel is drawn once, whatever is typed around it. */
export const PanelView = memo(
  function PanelView({ panel, projectId }: { panel: Panel; projectId: number }) {
    switch (panel.kind) {
      case "chart":
        return <ChartPanelView panel={panel} projectId={projectId} />;
      case "runs":
        return <RunsPanelView panel={panel} projectId={projectId} />;
      case "number":
        return <NumberPanelView panel={panel} projectId={projectId} />;
      case "story":
        return <StoryPanelView panel={panel} />;
    }
  },
  (old, next) => old.projectId === next.projectId && JSON.stringify(old.panel) === JSON.stringify(next.panel),
);
