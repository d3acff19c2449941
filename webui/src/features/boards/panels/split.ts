/** The text of a board as Markdown and panels in turn. */
import { readPanel } from "./read";
import type { Panel, Segment } from "./types";

/** A fence of Markdown: its indent, its marks, its info string. */
const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/;

/**
 * A panel is a fenced block whose info string begins with `panel`. Blocks inside of other fenced
 * blocks, of lists and of quotes stay Markdown. A panel that cannot be read has problems.
 */
export function splitBoard(text: string): Segment[] {
  const lines = text.split(/\r?\n/);
  const segments: Segment[] = [];
  let open: { marks: string; line: number; panel: string | undefined } | undefined;
  let from = 0;
  const addText = (to: number) => {
    const part = lines.slice(from, to).join("\n");
    if (part.trim()) segments.push({ kind: "text", text: part, line: from + 1 });
  };
  lines.forEach((line, at) => {
    const fence = FENCE.exec(line);
    if (open) {
      if (!fence || !closes(fence, open.marks)) return;
      if (open.panel !== undefined) {
        addText(open.line);
        segments.push(segmentOf(open.panel, lines.slice(open.line + 1, at), open.line + 1));
        from = at + 1;
      }
      open = undefined;
    } else if (fence) {
      const [, , marks = "", info = ""] = fence;
      // Backticks in the info string make it inline code.
      if (marks.startsWith("`") && info.includes("`")) return;
      const panel = /^\s*panel(?:\s+(.*))?$/.exec(info);
      open = { marks, line: at, panel: panel ? (panel[1] ?? "").trim() : undefined };
    }
  });
  if (open?.panel !== undefined) {
    addText(open.line);
    segments.push({
      kind: "broken",
      line: open.line + 1,
      source: lines.slice(open.line).join("\n"),
      problems: [{ line: open.line + 1, reason: `The panel has no end: close it with a line of ${open.marks}` }],
    });
  } else addText(lines.length);
  return segments;
}

export function panelsOf(segments: readonly Segment[]): Panel[] {
  return segments.flatMap((each) => (each.kind === "panel" ? [each.panel] : []));
}

/** Segments in rows: panels that follow each other share one. */
export function rowsOf(segments: readonly Segment[]): Segment[][] {
  const rows: Segment[][] = [];
  for (const segment of segments) {
    const row = rows.at(-1);
    if (row && segment.kind !== "text" && row[0]?.kind !== "text") row.push(segment);
    else rows.push([segment]);
  }
  return rows;
}

function closes([, , marks = "", rest = ""]: RegExpExecArray, opened: string): boolean {
  return marks.charAt(0) === opened.charAt(0) && marks.length >= opened.length && rest.trim() === "";
}

function segmentOf(kind: string, body: string[], line: number): Segment {
  const read = readPanel(kind, body, line);
  if ("panel" in read) return { kind: "panel", panel: read.panel, line };
  return { kind: "broken", line, problems: read.problems, source: ["```panel " + kind, ...body, "```"].join("\n") };
}
