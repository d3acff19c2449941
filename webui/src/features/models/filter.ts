/** Which models a list shows. */
import type { Model } from "@/data/registry/models";

export interface ModelFilter {
  text: string;
  tag: string;
  /** 0 is everyone. */
  owner: number;
  archived: boolean;
}

export function filterModels(models: Model[], filter: ModelFilter): Model[] {
  const word = filter.text.trim().toLowerCase();
  return models.filter(
    (each) =>
      (filter.archived || !each.archived) &&
      (!filter.tag || (each.labels ?? []).includes(filter.tag)) &&
      (!filter.owner || each.userId === filter.owner) &&
      `${each.name} ${each.description}`.toLowerCase().includes(word),
  );
}

/** All tags, each once, in their order. */
export function tagsOf(models: Model[]): string[] {
  return [...new Set(models.flatMap((each) => each.labels ?? []))].sort((a, b) => a.localeCompare(b));
}

/** Users who own a model. */
export function ownersOf(models: Model[]): number[] {
  return [...new Set(models.flatMap((each) => (each.userId === undefined ? [] : [each.userId])))];
}

/** The tags in a text with commas. */
export function splitTags(text: string): string[] {
  return [...new Set(text.split(",").map((each) => each.trim()).filter(Boolean))];
}
