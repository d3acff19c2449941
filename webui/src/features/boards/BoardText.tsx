import { useMemo } from "react";

import { Markdown } from "@/ui/markdown/Markdown";

import styles from "./Boards.module.css";
import { BrokenPanel } from "./panels/PanelFrame";
import { PanelView } from "./panels/PanelView";
import { rowsOf, splitBoard } from "./panels/split";
import type { Segment } from "./panels/types";

/** The text of a board, its panels with live data. */
export function BoardText({ text, projectId }: { text: string; projectId: number }) {
  const rows = useMemo(() => rowsOf(splitBoard(text)), [text]);
  return (
    <div className={styles.text}>
      {rows.map((row, at) => (
        <div key={at} className={row[0]?.kind === "text" ? styles.words : styles.row}>
          {row.map((segment, place) => (
            <div key={place} className={styles.cell} data-width={widthOf(segment)}>
              <Part segment={segment} projectId={projectId} />
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

function Part({ segment, projectId }: { segment: Segment; projectId: number }) {
  if (segment.kind === "text") return <Markdown text={segment.text} below={1} />;
  if (segment.kind === "panel") return <PanelView panel={segment.panel} projectId={projectId} />;
  return <BrokenPanel problems={segment.problems} source={segment.source} />;
}

function widthOf(segment: Segment): string {
  return segment.kind === "panel" ? segment.panel.width : "full";
}
