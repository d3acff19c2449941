/** Errors of a document at their lines. */
import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";

export interface Marker {
  /** From 1; a line beyond the document is its last one. */
  line: number;
  /** From 1; without it the whole line is marked. */
  column?: number;
  message: string;
  severity?: "error" | "warning";
}

export function diagnostics(doc: Text, markers: readonly Marker[]): Diagnostic[] {
  return markers.map(({ line, column, message, severity = "error" }) => {
    const at = doc.line(Math.max(1, Math.min(doc.lines, Math.floor(line) || 1)));
    const indent = at.text.length - at.text.trimStart().length;
    const from = Math.min(at.to, at.from + (column ? column - 1 : indent));
    return { from, to: Math.max(from, at.to), message, severity };
  });
}
