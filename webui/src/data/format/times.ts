/** Instants and durations. Durations are in seconds, instants are ISO texts of the wire. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `12s`, `3m 05s`, `1h 04m`, `2d 03h`. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  const s = Math.max(0, Math.floor(seconds));
  if (s < MINUTE) return `${s}s`;
  if (s < HOUR) return `${Math.floor(s / MINUTE)}m ${pad(s % MINUTE)}s`;
  if (s < DAY) return `${Math.floor(s / HOUR)}h ${pad(Math.floor((s % HOUR) / MINUTE))}m`;
  return `${Math.floor(s / DAY)}d ${pad(Math.floor((s % DAY) / HOUR))}h`;
}

/** `12.25 h`; little time is not nothing: `< 0.01 h`. */
export function formatHours(hours: number): string {
  if (hours > 0 && hours < 0.01) return "< 0.01 h";
  return `${hours.toLocaleString("en", { maximumFractionDigits: hours < 100 ? 2 : 0 })} h`;
}

/** Seconds between two instants; `end` is now while a thing runs. */
export function secondsBetween(
  start: string | undefined,
  end: string | undefined,
  now: number,
): number | undefined {
  if (!start) return undefined;
  const from = Date.parse(start);
  const to = end ? Date.parse(end) : now;
  return Number.isNaN(from) || Number.isNaN(to) ? undefined : Math.max(0, (to - from) / 1000);
}

/** `just now`, `4m ago`, `3h ago`, `5d ago`, then the date. A future instant reads `in 4m`. */
export function formatRelative(iso: string | undefined, now: number): string {
  if (!iso) return "–";
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return iso;
  const gap = Math.round((now - at) / 1000);
  const size = Math.abs(gap);
  if (size < 10) return "just now";
  const amount =
    size < MINUTE
      ? `${size}s`
      : size < HOUR
        ? `${Math.floor(size / MINUTE)}m`
        : size < DAY
          ? `${Math.floor(size / HOUR)}h`
          : size < 30 * DAY
            ? `${Math.floor(size / DAY)}d`
            : "";
  if (!amount) return formatDate(iso);
  return gap >= 0 ? `${amount} ago` : `in ${amount}`;
}

/** The instant in the browser's zone: `2026-03-04 15:06:07`. */
export function formatInstant(iso: string | undefined): string {
  if (!iso) return "–";
  const d = new Date(iso);
  if (Number.isNaN(d.getTime())) return iso;
  return `${formatDate(iso)} ${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

export function formatDate(iso: string | undefined): string {
  if (!iso) return "–";
  const d = new Date(iso);
  if (Number.isNaN(d.getTime())) return iso;
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
}

function pad(n: number): string {
  return String(n).padStart(2, "0");
}
