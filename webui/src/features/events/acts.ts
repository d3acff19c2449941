/** Acts in words. */
import type { Act } from "@/data/acts";
import { csvOf } from "@/data/format/csv";

const VERBS: Record<string, string> = {
  post: "created",
  create: "created",
  add: "added",
  patch: "changed",
  put: "changed",
  update: "changed",
  set: "set",
  overwrite: "replaced",
  delete: "deleted",
  remove: "removed",
  archive: "archived",
  unarchive: "unarchived",
  move: "moved",
  enable: "enabled",
  disable: "disabled",
  assign: "assigned",
  bind: "bound",
  unbind: "unbound",
  make: "made",
  test: "tested",
};

/** `patch_user` as `changed user`; an operation without a known verb as its words. */
export function actWords(operation: string): string {
  const [verb = "", ...rest] = operation.split("_");
  const known = VERBS[verb];
  return known === undefined ? operation.replace(/_/g, " ") : [known, ...rest].join(" ");
}

/** What was changed, from the path: `users/2`. */
export function actThing({ path }: Pick<Act, "path">): string {
  return decoded(path.replace(/^\/api\/(ui\/)?v1\//, "").replace(/\/(archive|unarchive|enable|disable|move|test|password)$/, ""));
}

export function narrowedActs(acts: readonly Act[], words: string): Act[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return acts.filter((each) => {
    const text = `${each.username} ${actWords(each.operation)} ${each.path}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

export function actsCsv(acts: readonly Act[]): string {
  const rows = acts.map((each) => [each.at, each.username, each.operation, each.method, each.path]);
  return csvOf(["time", "user", "operation", "method", "path"], rows);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
