/** What a person typed and did not save: asked about before it is lost. */

/** A dialog is left with the parameter of the address that opened it, too. */
export type Reach = "page" | "dialog";

export interface Place {
  pathname: string;
  search: string;
}

const DIALOG_PARAMS = ["dialog", "launch", "template"];

const texts = new Map<symbol, Reach>();

/** Until the returned function is called, leaving asks first. */
export function holdUnsaved(reach: Reach): () => void {
  const key = Symbol(reach);
  texts.set(key, reach);
  return () => void texts.delete(key);
}

export function hasUnsaved(): boolean {
  return texts.size > 0;
}

/** True when a move to another address would lose something. */
export function losesText(from: Place, to: Place): boolean {
  return [...texts.values()].some((reach) => leaves(reach, from, to));
}

function leaves(reach: Reach, from: Place, to: Place): boolean {
  if (from.pathname !== to.pathname) return true;
  if (reach === "page") return false;
  const [old, next] = [new URLSearchParams(from.search), new URLSearchParams(to.search)];
  return DIALOG_PARAMS.some((name) => old.has(name) && old.get(name) !== next.get(name));
}
