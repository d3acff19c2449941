/** What a `.detignore` leaves out: patterns in the format of `.gitignore`, as `det` reads them. */

interface Rule {
  pattern: RegExp;
  isNegated: boolean;
  onlyDirectories: boolean;
}

export const IGNORE_FILE = ".detignore";
/** `det` never sends these either. */
const ALWAYS = ["__pycache__/", ".git", `/${IGNORE_FILE}`];

/**
 * Whether a relative path is left out; `text` is that of the ignore file.
 *
 * As in git, a file in an ignored directory cannot be included again.
 */
export function ignored(text: string): (path: string) => boolean {
  const rules = [...ALWAYS, ...text.split(/\r?\n/)].flatMap(ruleOf);
  const covers = (path: string, isDirectory: boolean) => isCovered(rules, path, isDirectory);
  return (path) => {
    const parts = path.split("/");
    return parts.some((_, at) => covers(parts.slice(0, at + 1).join("/"), at < parts.length - 1));
  };
}

/** Whether the last rule that matches one path leaves it out. */
export function isCovered(rules: readonly Rule[], path: string, isDirectory: boolean): boolean {
  const last = rules.findLast((rule) => (isDirectory || !rule.onlyDirectories) && rule.pattern.test(path));
  return last !== undefined && !last.isNegated;
}

export function ruleOf(line: string): Rule[] {
  let text = line.replace(/(?<!\\)\s+$/, "");
  if (!text || text.startsWith("#")) return [];
  const isNegated = text.startsWith("!");
  if (isNegated) text = text.slice(1);
  const onlyDirectories = text.endsWith("/");
  text = text.replace(/\/+$/, "");
  const isAnchored = text.includes("/");
  text = text.replace(/^\/+/, "");
  if (!text) return [];
  try {
    return [{ pattern: new RegExp(`^${isAnchored ? "" : "(?:.*/)?"}${expression(text)}$`, "s"), isNegated, onlyDirectories }];
  } catch {
    return []; // such as `[z-a]`, which matches nothing
  }
}

/** `*` matches within a part of a path, `**` across parts. */
function expression(glob: string): string {
  let out = "";
  let at = 0;
  while (at < glob.length) {
    const isAtPart = at === 0 || glob[at - 1] === "/";
    const end = glob[at] === "[" ? glob.indexOf("]", at + 2) : -1;
    if (isAtPart && glob.startsWith("**/", at)) [out, at] = [`${out}(?:.*/)?`, at + 3];
    else if (isAtPart && glob.slice(at) === "**") [out, at] = [`${out}.+`, at + 2];
    else if (glob[at] === "*") [out, at] = [`${out}[^/]*`, at + 1];
    else if (glob[at] === "?") [out, at] = [`${out}[^/]`, at + 1];
    else if (end > 0) [out, at] = [out + oneOf(glob.slice(at + 1, end)), end + 1];
    else {
      if (glob[at] === "\\" && at + 1 < glob.length) at += 1;
      out += (glob[at] ?? "").replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
      at += 1;
    }
  }
  return out;
}

function oneOf(characters: string): string {
  const isNegated = characters.startsWith("!") || characters.startsWith("^");
  const body = (isNegated ? characters.slice(1) : characters).replace(/[^\w-]/g, "\\$&");
  return `[${isNegated ? "^" : ""}${body}]`;
}
