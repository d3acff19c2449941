import { formatDuration, formatInstant, formatRelative, secondsBetween } from "@/data/format/times";
import { useNow } from "@/data/now";
import { usePreferences } from "@/data/preferences";

/** An instant, relative with the absolute one on hover, or the other way by the user's setting. */
export function Time({ at }: { at: string | undefined | null }) {
  const now = useNow(10_000);
  const { absoluteTimes } = usePreferences();
  if (!at) return <span className="muted">–</span>;
  const relative = formatRelative(at, now);
  const absolute = formatInstant(at);
  return (
    <time dateTime={at} title={absoluteTimes ? relative : absolute} className="number">
      {absoluteTimes ? absolute : relative}
    </time>
  );
}

/** The time between two instants; it runs while `end` is missing. */
export function Duration({ start, end }: { start?: string | undefined; end?: string | undefined }) {
  const now = useNow(1000);
  return <span className="number">{formatDuration(secondsBetween(start, end, now))}</span>;
}
