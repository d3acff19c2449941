/** The charts of system metrics: one a name, with its unit, a line an agent and device. */
import type { SystemSeries } from "./samples";

export type Unit = "percent" | "bytes" | "bytesPerSecond" | "perSecond" | "seconds" | "";

export interface SystemChart {
  /** `GPU.gpu_util`: the section, then the name. */
  id: string;
  title: string;
  /** Values are divided by it. */
  scale: number;
  series: SystemSeries[];
}

interface Known {
  section: string;
  title: string;
  unit: Unit;
}

const KNOWN: Record<string, Known> = {
  gpu_util: { section: "GPU", title: "GPU utilization", unit: "percent" },
  gpu_free_memory: { section: "GPU", title: "Free GPU memory", unit: "bytes" },
  cpu_util_simple: { section: "CPU", title: "CPU utilization", unit: "percent" },
  memory_free: { section: "Memory", title: "Free memory", unit: "bytes" },
  disk_iops: { section: "Disk", title: "Disk operations", unit: "perSecond" },
  disk_throughput_read: { section: "Disk", title: "Disk reads", unit: "bytesPerSecond" },
  disk_throughput_write: { section: "Disk", title: "Disk writes", unit: "bytesPerSecond" },
  disk_util: { section: "Disk", title: "Disk space used", unit: "percent" },
  net_throughput_sent: { section: "Network", title: "Network sent", unit: "bytesPerSecond" },
  net_throughput_recv: { section: "Network", title: "Network received", unit: "bytesPerSecond" },
};

const SECTIONS = { system: "Other", timing: "Timing", misc: "Other" } as const;

/** Charts in the order of their series; every series is in exactly one. */
export function chartsOf(series: readonly SystemSeries[]): SystemChart[] {
  const charts = new Map<string, SystemSeries[]>();
  for (const each of series) {
    const id = `${knownOf(each).section}.${each.name}`;
    charts.set(id, [...(charts.get(id) ?? []), each]);
  }
  return [...charts].map(([id, list]) => {
    const { title, unit } = knownOf(list[0] as SystemSeries);
    const { scale, suffix } = unitOf(unit, largest(list));
    return { id, title: suffix ? `${title}, ${suffix}` : title, scale, series: list };
  });
}

function knownOf({ name, group }: SystemSeries): Known {
  const known = Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined;
  if (known && group !== "timing") return known;
  return { section: SECTIONS[group], title: name, unit: group === "timing" ? "seconds" : "" };
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** The unit in which the largest value has one to four digits before the point. */
export function unitOf(unit: Unit, most: number): { scale: number; suffix: string } {
  if (unit === "percent") return { scale: 1, suffix: "%" };
  if (unit === "perSecond") return { scale: 1, suffix: "per second" };
  if (unit === "seconds") return { scale: 1, suffix: "s" };
  if (unit === "") return { scale: 1, suffix: "" };
  let power = 0;
  while (most / 1024 ** power >= 1024 && power < BYTES.length - 1) power += 1;
  return { scale: 1024 ** power, suffix: `${BYTES[power]}${unit === "bytesPerSecond" ? "/s" : ""}` };
}

function largest(list: readonly SystemSeries[]): number {
  let most = 0;
  for (const { last } of list) for (const value of last) most = Math.max(most, Math.abs(value));
  return most;
}

/** What names a line: the agent where there are several, and the device. */
export function lineNames(series: readonly SystemSeries[]): (each: SystemSeries) => string {
  const agents = new Set(series.map((each) => each.agent));
  const devices = new Set(series.map((each) => each.device).filter(Boolean));
  const short = shortNames([...devices]);
  return ({ agent, device }) => {
    const parts = [agents.size > 1 || !device ? agent : "", device && (short.get(device) ?? device)];
    return parts.filter(Boolean).join(" · ") || "agent";
  };
}

const LEAST_SHORT = 12;

/** Long ids cut as short as they stay different; paths stay whole. */
export function shortNames(ids: readonly string[]): Map<string, string> {
  const isLong = (id: string) => id.length > LEAST_SHORT && !id.startsWith("/");
  const long = ids.filter(isLong);
  let length = LEAST_SHORT;
  const most = long.reduce((size, id) => Math.max(size, id.length), 0);
  while (length < most && new Set(long.map((id) => id.slice(0, length))).size < long.length) length += 1;
  return new Map(ids.map((id) => [id, isLong(id) && id.length > length ? `${id.slice(0, length)}…` : id]));
}

/** A number for each agent and device, which decides its colour in all charts. */
export function placesOf(series: readonly SystemSeries[]): (each: SystemSeries) => number {
  const places = new Map<string, number>();
  const keyOf = ({ agent, device }: SystemSeries) => JSON.stringify([agent, device]);
  for (const each of series) if (!places.has(keyOf(each))) places.set(keyOf(each), places.size);
  return (each) => places.get(keyOf(each)) ?? 0;
}

/** Why a run has no samples. */
export type Absence = "off" | "waiting" | "none";

export function absenceOf(config: unknown, isFinished: boolean): Absence {
  const profiling = (config as { profiling?: { enabled?: unknown } } | null | undefined)?.profiling;
  if (profiling?.enabled !== true) return "off";
  return isFinished ? "none" : "waiting";
}
