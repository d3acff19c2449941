import { useEffect, useState } from "react";

import type { LogLine, LogSource } from "@/data/logs/types";

/** The newest lines of a log, at most `count`, as they come. */
export function useLastLines(source: LogSource | undefined, count: number): readonly LogLine[] {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  useEffect(() => {
    if (!source) return;
    let leave: (() => void) | undefined;
    let isGone = false;
    const begin = async () => {
      const page = await source.loadBefore(undefined, count);
      if (isGone) return;
      setLines(newest(page.lines, count));
      const add = (more: readonly LogLine[]) => setLines((old) => newest([...old, ...more], count));
      leave = source.follow?.(page.lines.at(-1), add, () => undefined);
    };
    // Without a log there are no lines; the log's own tab says why.
    void begin().catch(() => undefined);
    return () => {
      isGone = true;
      leave?.();
    };
  }, [source, count]);
  return lines;
}

/** The last lines that say something; without one, the last line. */
export function newest(lines: readonly LogLine[], count: number): readonly LogLine[] {
  const spoken = lines.filter((line) => line.text.trim() !== "");
  return (spoken.length > 0 ? spoken : lines.slice(-1)).slice(-count);
}
