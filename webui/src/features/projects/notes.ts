/** Pages of notes, and what happened to them between reading and saving. */
export interface NotePage {
  name: string;
  contents: string;
}

export function pagesOf(notes: readonly { name?: string; contents?: string }[] | undefined): NotePage[] {
  return (notes ?? []).map(({ name = "", contents = "" }) => ({ name, contents }));
}

export function samePages(a: readonly NotePage[], b: readonly NotePage[]): boolean {
  return (
    a.length === b.length &&
    a.every((page, at) => page.name === b[at]?.name && page.contents === b[at]?.contents)
  );
}

/** A name that no page has: `Notes`, `Notes 2`. */
export function freeName(pages: readonly NotePage[], wanted = "Notes"): string {
  const names = new Set(pages.map((page) => page.name));
  if (!names.has(wanted)) return wanted;
  let number = 2;
  while (names.has(`${wanted} ${number}`)) number += 1;
  return `${wanted} ${number}`;
}

/**
 * My pages and theirs, from the common base: a page that only one side changed is taken from that
 * side. `conflicts` names pages that both changed; there the merged list has mine.
 */
export function mergePages(base: readonly NotePage[], mine: readonly NotePage[], theirs: readonly NotePage[]) {
  const find = (pages: readonly NotePage[], name: string) => pages.find((page) => page.name === name)?.contents;
  const names = [...new Set([...mine, ...theirs].map((page) => page.name))];
  const conflicts: string[] = [];
  const merged = names.flatMap((name): NotePage[] => {
    const [old, my, their] = [find(base, name), find(mine, name), find(theirs, name)];
    if (my === their) return my === undefined ? [] : [{ name, contents: my }];
    if (my === old) return their === undefined ? [] : [{ name, contents: their }];
    if (their !== old) conflicts.push(name);
    return my === undefined ? [] : [{ name, contents: my }];
  });
  return { merged, conflicts };
}
