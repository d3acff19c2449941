import { Link } from "react-router";

import { useStory } from "@/data/experiments/story";
import { passesLevel, StoryList } from "@/features/experiments/StoryView";
import { QueryView } from "@/ui/feedback/Feedback";

import { PanelFrame } from "./PanelFrame";
import type { StoryPanel } from "./types";

const WORDS = { experiments: "experiment", trials: "trial", tasks: "task" } as const;

export function StoryPanelView({ panel }: { panel: StoryPanel }) {
  const query = useStory(panel.of, panel.id);
  const place = panel.of === "tasks" ? undefined : `/${panel.of}/${panel.id}/story`;
  const name = `${WORDS[panel.of]} ${panel.id}`;
  return (
    <PanelFrame title={panel.title || `Story of ${name}`} end={place && <Link to={place}>The whole story</Link>}>
      <QueryView query={query} what={WORDS[panel.of]}>
        {({ items }) => {
          const shown = items.filter((item) => passesLevel(item, panel.level)).slice(-panel.last);
          if (shown.length === 0) return <p className="muted">No event of this level is recorded.</p>;
          return (
            <>
              {shown.length < items.length && <p className="hint">The last {shown.length} events</p>}
              <StoryList items={shown} />
            </>
          );
        }}
      </QueryView>
    </PanelFrame>
  );
}
