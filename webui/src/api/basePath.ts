/** The path below which a proxy serves the master; empty for none. */

const ASSETS = "/det/assets/";

/** Taken from the page's script, whose address the master writes, else from the page's address. */
export function basePath(pathname: string, script: string | null | undefined): string {
  const at = script?.lastIndexOf(ASSETS) ?? -1;
  return at >= 0 ? (script as string).slice(0, at) : pathname.replace(/\/det(\/.*)?$/, "");
}
