/** Pages that a text names by kind and number, such as `trial 36` and `logs 25`. */
import type { IconName } from "@/ui/icons/Icon";

export interface Jump {
  kind: "page";
  label: string;
  icon: IconName;
  to: string;
}

/** Words, with the tab that they open. */
const TABS: Record<string, string> = {
  log: "logs",
  ...Object.fromEntries(["logs", "metrics", "story", "checkpoints", "code", "profiler"].map((tab) => [tab, tab])),
};
const KINDS: Record<string, Kind> = { experiment: "experiment", exp: "experiment", e: "experiment", trial: "trial", t: "trial" };
type Kind = "experiment" | "trial";

/** `trial 36`, `e 12`, `logs 25`, `logs trial 36`, `trial 36 logs`; without a kind, both kinds. */
export function jumpsTo(text: string): Jump[] {
  const words = text.trim().toLowerCase().split(/[\s#]+/).filter(Boolean);
  const numbers = words.filter((word) => /^\d{1,9}$/.test(word));
  const rest = words.filter((word) => !/^\d{1,9}$/.test(word));
  const kinds = rest.map((word) => KINDS[word]).filter((kind) => kind !== undefined);
  const tabs = rest.map((word) => TABS[word]).filter((tab) => tab !== undefined);
  const isJump = numbers.length === 1 && rest.length > 0 && rest.length === kinds.length + tabs.length;
  if (!isJump || kinds.length > 1 || tabs.length > 1) return [];
  const id = Number(numbers[0]);
  return (kinds.length > 0 ? kinds : (["experiment", "trial"] as const)).map((kind) => jump(kind, id, tabs[0]));
}

function jump(kind: Kind, id: number, tab: string | undefined): Jump {
  const name = `${kind === "trial" ? "Trial" : "Experiment"} ${id}`;
  return {
    kind: "page",
    label: tab ? `${name}, ${tab}` : name,
    icon: tab === "logs" ? "log" : "runs",
    to: `/${kind}s/${id}/${tab ?? "overview"}`,
  };
}
