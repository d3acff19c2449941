/** Where `?redirect=` leads after the sign-in. Nothing leads to another host. */

const HOME = "/dashboard";

/** A path inside of the web UI; anything else is the home page. `base` is before `/det`. */
export function safeTarget(redirect: string | null, base: string): string {
  const url = ownAddress(redirect);
  if (!url) return HOME;
  const path = withoutBase(url.pathname, base).replace(/^\/det(?=\/|$)/, "");
  // Two slashes would name another host.
  if (!/^\/[^/\\]/.test(path) || /^\/(login|logout)(\/|$)/.test(path)) return HOME;
  return path + url.search + url.hash;
}

/** The address of a task's page, which the master serves beside the web UI; undefined for others. */
export function outsideTarget(redirect: string | null, base: string): string | undefined {
  const url = ownAddress(redirect);
  if (!url) return undefined;
  const path = withoutBase(url.pathname, base);
  return path.startsWith("/proxy/") ? base + path + url.search + url.hash : undefined;
}

/** An address of this origin, as a browser reads it. */
function ownAddress(redirect: string | null): URL | undefined {
  if (!redirect?.startsWith("/")) return undefined;
  try {
    const url = new URL(redirect, location.origin);
    return url.origin === location.origin ? url : undefined;
  } catch {
    return undefined;
  }
}

function withoutBase(path: string, base: string): string {
  return base && (path === base || path.startsWith(`${base}/`)) ? path.slice(base.length) : path;
}
