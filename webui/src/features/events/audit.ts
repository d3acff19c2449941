/** Entries of the audit log in words. */
import type { AuditEntry } from "@/data/audit";
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
export function operationWords(operation: string): string {
  const [verb = "", ...rest] = operation.split("_");
  const known = VERBS[verb];
  return known === undefined ? operation.replace(/_/g, " ") : [known, ...rest].join(" ");
}

/** What was changed, from the path: `users/2`; where that names no user, with the users. */
export function changedThing({ path, details }: Pick<AuditEntry, "path" | "details">): string {
  const thing = decoded(path.replace(/^\/api\/(ui\/)?v1\//, "").replace(/\/(archive|unarchive|enable|disable|move|test|password)$/, ""));
  return details ? `${thing}: ${details}` : thing;
}

export function filteredEntries(entries: readonly AuditEntry[], words: string): AuditEntry[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((each) => {
    const text = `${each.username} ${operationWords(each.operation)} ${each.path} ${each.details}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

export function auditCsv(entries: readonly AuditEntry[]): string {
  const rows = entries.map((each) => [each.at, each.username, each.operation, each.method, each.path, each.details]);
  return csvOf(["time", "user", "operation", "method", "path", "users"], rows);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
