/** Which projects a workspace shows, and in which order. */
import type { Project } from "@/data/workspace/queries";

import type { Owner } from "./filter";

export type ProjectSort = "name" | "newest" | "last";

export const PROJECT_SORTS: { value: ProjectSort; label: string }[] = [
  { value: "name", label: "By name" },
  { value: "newest", label: "Newest first" },
  { value: "last", label: "Last experiment first" },
];

export interface ProjectFilter {
  owner: Owner;
  me: number | undefined;
  archived: boolean;
  text: string;
  sort: ProjectSort;
}

export function filterProjects(projects: Project[], filter: ProjectFilter): Project[] {
  const word = filter.text.trim().toLowerCase();
  return projects
    .filter(
      (each) =>
        (filter.archived || !each.archived) &&
        (filter.owner === "all" || (each.userId === filter.me) === (filter.owner === "mine")) &&
        `${each.name} ${each.description}`.toLowerCase().includes(word),
    )
    .sort((a, b) => {
      if (filter.sort === "newest") return (b.id ?? 0) - (a.id ?? 0);
      const byName = (a.name ?? "").localeCompare(b.name ?? "");
      return filter.sort === "last" ? started(b) - started(a) || byName : byName;
    });
}

function started(project: Project): number {
  return project.lastExperimentStartedAt ? Date.parse(project.lastExperimentStartedAt) : 0;
}
