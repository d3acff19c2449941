/** YAML that a person types, and the line that an error is about. */
import { isCollection, isMap, isScalar, LineCounter, parseDocument, stringify } from "yaml";

export interface YamlError {
  /** From 1. */
  line: number;
  message: string;
}

/** The object in a text, or the first error with its line. An empty text is an empty object. */
export function parseObject(text: string): { value: Record<string, unknown> } | { error: YamlError } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const broken = document.errors[0];
  if (broken) {
    const message = broken.message.split("\n")[0] ?? broken.message;
    return { error: { line: lines.linePos(broken.pos[0]).line, message } };
  }
  if (document.contents === null) return { value: {} };
  if (!isMap(document.contents))
    return { error: { line: 1, message: "Write names and values, as `name: value`." } };
  return { value: document.toJS() as Record<string, unknown> };
}

export function toYaml(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object" && Object.keys(value).length === 0) return "";
  return stringify(value, { lineWidth: 0, nullStr: "null" });
}

/**
 * The line of the field that a message of the master names: `resources.max_slots`, or a name alone.
 *
 * The longest path wins; `undefined` when the message names no field of the text.
 */
export function lineOf(text: string, message: string): number | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  let best: { size: number; line: number } | undefined;
  const visit = (node: unknown, path: string): void => {
    if (!isCollection(node)) return;
    node.items.forEach((item, index) => {
      if (!isMap(node)) {
        visit(item, path ? `${path}.${index}` : String(index));
        return;
      }
      const { key, value } = item as { key: unknown; value: unknown };
      if (!isScalar(key)) return;
      const name = String(key.value);
      const full = path ? `${path}.${name}` : name;
      const size = mentions(message, full) ? full.length + 1000 : mentions(message, name) ? name.length : 0;
      if (size > (best?.size ?? 0) && key.range) best = { size, line: lines.linePos(key.range[0]).line };
      visit(value, full);
    });
  };
  visit(document.contents, "");
  return best?.line;
}

function mentions(message: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(^|[^\\w-])${escaped}($|[^\\w-])`).test(message);
}
