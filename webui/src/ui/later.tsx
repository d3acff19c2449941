/**
 * Components whose code is loaded when they are shown first.
 *
 *     const Plot = later(() => import("./plot/Plot"), { fallback: <Blank /> });
 *
 * React's `lazy` is not used: after a fallback it holds back what has come for up to 0.3 s, so that
 * a page changes less often, and a chart would be seen that much later.
 */
import { useLayoutEffect, useState, type ComponentType, type ReactNode } from "react";

/** The list of a page has its first rows by then, on most machines. */
const PAUSE_MS = 1000;

interface Options {
  /** Shown until the code is there. */
  fallback?: ReactNode;
  /** Load it as soon as the page has nothing else to do: what opens with a click. */
  soon?: boolean;
}

export function later<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
  { fallback = null, soon = false }: Options = {},
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  const get = async () => (loaded ??= (await load()).default);
  if (soon && "requestIdleCallback" in window) {
    // A failure shows when the component does: it is loaded again then.
    setTimeout(() => requestIdleCallback(() => void get().catch(() => undefined)), PAUSE_MS);
  }
  return function Later(props: Props) {
    const [came, setCame] = useState<{ Component?: ComponentType<Props> | undefined; error?: unknown }>({ Component: loaded });
    const Component = came.Component ?? loaded;
    const isMissing = !Component;
    useLayoutEffect(() => {
      if (!isMissing) return;
      let isShown = true;
      get().then(
        (Component) => isShown && setCame({ Component }),
        (error: unknown) => isShown && setCame({ error }),
      );
      return () => {
        isShown = false;
      };
    }, [isMissing]);
    // For the page's error boundary.
    if (came.error !== undefined) throw came.error;
    return Component ? <Component {...props} /> : fallback;
  };
}
