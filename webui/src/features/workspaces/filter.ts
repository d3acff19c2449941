/** Which workspaces and projects a page shows, and in which order. */
import type { Project } from "@/data/workspace/queries";
import type { Workspace } from "@/data/workspaces";

export type Owner = "all" | "mine" | "others";
export type Sort = "name" | "newest" | "experiments";
export type ProjectSort = "name" | "newest" | "last";

export interface SortOption<S> {
  value: S;
  label: string;
}

export interface Filter<S> {
  owner: Owner;
  me: number | undefined;
  archived: boolean;
  text: string;
  sort: S;
}

const ANY_SORTS: SortOption<"name" | "newest">[] = [
  { value: "name", label: "By name" },
  { value: "newest", label: "Newest first" },
];
export const SORTS: SortOption<Sort>[] = [...ANY_SORTS, { value: "experiments", label: "Most experiments first" }];
export const PROJECT_SORTS: SortOption<ProjectSort>[] = [...ANY_SORTS, { value: "last", label: "Last experiment first" }];

/** Pinned workspaces stand before the others. */
export function filterWorkspaces(workspaces: Workspace[], filter: Filter<Sort>): Workspace[] {
  return filterRows(workspaces, filter, (each) => each.name ?? "", (each) => each.numExperiments ?? 0).sort(
    (a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false),
  );
}

export function filterProjects(projects: Project[], filter: Filter<ProjectSort>): Project[] {
  return filterRows(projects, filter, (each) => `${each.name} ${each.description}`, started);
}

/** `rank` orders the rows, the largest first, where the sort is neither by name nor by age. */
function filterRows<Row extends Workspace | Project>(
  rows: Row[],
  filter: Filter<string>,
  textOf: (row: Row) => string,
  rank: (row: Row) => number,
): Row[] {
  const word = filter.text.trim().toLowerCase();
  return rows
    .filter(
      (each) =>
        (filter.archived || !each.archived) &&
        (filter.owner === "all" || (each.userId === filter.me) === (filter.owner === "mine")) &&
        textOf(each).toLowerCase().includes(word),
    )
    .sort((a, b) => {
      if (filter.sort === "newest") return (b.id ?? 0) - (a.id ?? 0);
      const byName = (a.name ?? "").localeCompare(b.name ?? "");
      return filter.sort === "name" ? byName : rank(b) - rank(a) || byName;
    });
}

function started(project: Project): number {
  return project.lastExperimentStartedAt ? Date.parse(project.lastExperimentStartedAt) : 0;
}
