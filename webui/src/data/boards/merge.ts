/** Two changes of one text, put together where they touch different lines. */

export type Merge = { text: string } | "conflict";

/**
 * My text and theirs, from the common base.
 *
 * Each side's change is one range of lines of the base: from its first changed line to its last.
 * Ranges that neither overlap nor touch are merged; lines that both sides changed in the same way
 * are no conflict.
 */
export function mergeTexts(base: string, mine: string, theirs: string): Merge {
  if (mine === theirs || theirs === base) return { text: mine };
  if (mine === base) return { text: theirs };
  const lines = base.split("\n");
  const my = changeOf(lines, mine.split("\n"));
  const their = changeOf(lines, theirs.split("\n"));
  const [first, second] = my.from <= their.from ? [my, their] : [their, my];
  if (first.to >= second.from) return "conflict";
  return {
    text: [
      ...lines.slice(0, first.from),
      ...first.lines,
      ...lines.slice(first.to, second.from),
      ...second.lines,
      ...lines.slice(second.to),
    ].join("\n"),
  };
}

interface Change {
  /** The changed lines of the base: from `from`, before `to`. */
  from: number;
  to: number;
  /** What stands there now. */
  lines: string[];
}

function changeOf(base: readonly string[], next: readonly string[]): Change {
  const most = Math.min(base.length, next.length);
  let head = 0;
  while (head < most && base[head] === next[head]) head += 1;
  let tail = 0;
  while (tail < most - head && base[base.length - 1 - tail] === next[next.length - 1 - tail]) tail += 1;
  return { from: head, to: base.length - tail, lines: next.slice(head, next.length - tail) };
}
