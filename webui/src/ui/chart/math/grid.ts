/** Sections and order of the charts of a grid. */

export type GridSize = "S" | "M" | "L";

/** What a page keeps in its view: ids of charts in the order that the user made. */
export interface GridLayout {
  order: readonly string[];
  size: GridSize;
  closed: readonly string[];
}

export const DEFAULT_LAYOUT: GridLayout = { order: [], size: "M", closed: [] };

export interface Section {
  name: string;
  ids: string[];
}

/** `training.gpu/util` belongs to `training.gpu`, `training.loss` to `training`. */
export function sectionOf(id: string): string {
  const slash = id.lastIndexOf("/");
  return slash > 0 ? id.slice(0, slash) : groupOf(id);
}

function groupOf(id: string): string {
  const dot = id.indexOf(".");
  return dot > 0 ? id.slice(0, dot) : "metrics";
}

/** Why a search pattern is wrong, or which ids it finds. */
export function searchIds(ids: readonly string[], pattern: string): { ids: readonly string[]; error?: string } {
  if (!pattern) return { ids };
  try {
    const regex = new RegExp(pattern, "i");
    return { ids: ids.filter((id) => regex.test(id)) };
  } catch (cause) {
    return { ids, error: cause instanceof Error ? cause.message : String(cause) };
  }
}

/** A prefix of one chart alone makes no section: the chart joins its group's. */
function sectionsById(ids: readonly string[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(sectionOf(id), (counts.get(sectionOf(id)) ?? 0) + 1);
  return new Map(ids.map((id) => [id, counts.get(sectionOf(id)) === 1 ? groupOf(id) : sectionOf(id)]));
}

/** Ids that were ordered come first, the others by name, numbers by value. */
export function sectionsOf(ids: readonly string[], order: readonly string[]): Section[] {
  const place = new Map(order.map((id, i) => [id, i]));
  const names = new Intl.Collator("en", { numeric: true });
  const sorted = [...ids].sort((a, b) => {
    const [i, j] = [place.get(a) ?? Infinity, place.get(b) ?? Infinity];
    return i === j ? names.compare(a, b) : i - j;
  });
  const sections = new Map<string, string[]>();
  const named = sectionsById(ids);
  for (const id of sorted) {
    const name = named.get(id) as string;
    const list = sections.get(name) ?? [];
    list.push(id);
    sections.set(name, list);
  }
  return [...sections].map(([name, list]) => ({ name, ids: list })).sort((a, b) => names.compare(a.name, b.name));
}

/** The section of a chart before the others, and the chart before those that nobody ordered. */
export function withFirst(sections: readonly Section[], first: string | undefined, order: readonly string[]): Section[] {
  const found = sections.find((each) => first !== undefined && each.ids.includes(first));
  if (!found || first === undefined) return [...sections];
  const isOrdered = found.ids.some((id) => order.includes(id));
  const ids = isOrdered ? found.ids : [first, ...found.ids.filter((id) => id !== first)];
  return [{ ...found, ids }, ...sections.filter((each) => each !== found)];
}

/** Charts of one section that a step draws. */
export const CHARTS_A_STEP = 60;

/**
 * The first sections that together cost at most a budget, and always the first one.
 *
 * A run may have 5,000 metrics with as many prefixes: a section costs what it draws, its head
 * and at most one step of its charts; a closed one its head alone.
 */
export function withinBudget(sections: readonly Section[], closed: readonly string[], budget: number): Section[] {
  let cost = 0;
  const found = sections.findIndex(({ name, ids }, at) => {
    cost += 1 + (closed.includes(name) ? 0 : Math.min(ids.length, CHARTS_A_STEP));
    return at > 0 && cost > budget;
  });
  return found < 0 ? [...sections] : sections.slice(0, found);
}

/** The section's ids with one moved to the place of another, or by a step. */
export function movedId(ids: readonly string[], id: string, to: number): string[] {
  const rest = ids.filter((each) => each !== id);
  rest.splice(Math.max(0, Math.min(rest.length, to)), 0, id);
  return rest;
}

/** The whole order after the order of one section changed. */
export function withSection(order: readonly string[], section: readonly string[]): string[] {
  const changed = new Set(section);
  return [...order.filter((id) => !changed.has(id)), ...section];
}
