/** Which workspaces the page shows, and in which order. */
import type { Workspace } from "@/data/workspaces";

export type Owner = "all" | "mine" | "others";
export type Sort = "name" | "newest" | "experiments";

export const SORTS: { value: Sort; label: string }[] = [
  { value: "name", label: "By name" },
  { value: "newest", label: "Newest first" },
  { value: "experiments", label: "Most experiments first" },
];

export interface Filter {
  owner: Owner;
  me: number | undefined;
  archived: boolean;
  text: string;
  sort: Sort;
}

/** Pinned workspaces stand before the others. */
export function filterWorkspaces(workspaces: Workspace[], filter: Filter): Workspace[] {
  const word = filter.text.trim().toLowerCase();
  return workspaces
    .filter(
      (each) =>
        (filter.archived || !each.archived) &&
        (filter.owner === "all" || (each.userId === filter.me) === (filter.owner === "mine")) &&
        (each.name ?? "").toLowerCase().includes(word),
    )
    .sort((a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false) || compare(a, b, filter.sort));
}

function compare(a: Workspace, b: Workspace, sort: Sort): number {
  if (sort === "newest") return (b.id ?? 0) - (a.id ?? 0);
  const byName = (a.name ?? "").localeCompare(b.name ?? "");
  return sort === "experiments" ? (b.numExperiments ?? 0) - (a.numExperiments ?? 0) || byName : byName;
}
