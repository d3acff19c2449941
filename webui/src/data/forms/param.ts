/** One value of the view in the address. */
import { useCallback, useEffect } from "react";
import { useSearchParams } from "react-router";

/** A change that no render has seen yet: React Router does not queue changes of one moment. */
let unseen: { from: string; to: URLSearchParams } | undefined;

/**
 * The value of `?name=`, and the function that replaces it; the default is left out.
 *
 * Values that are set in one moment are all kept, as when a text field loses the focus to another
 * filter.
 */
export function useParam<T extends string = string>(
  name: string,
  fallback: NoInfer<T>,
): readonly [T, (value: T) => void] {
  const [params, setParams] = useSearchParams();
  const value = (params.get(name) as T | null) ?? fallback;
  useEffect(() => {
    unseen = undefined;
  }, [params]);
  const set = useCallback(
    (next: T) =>
      setParams(
        (old) => {
          const from = old.toString();
          const params = new URLSearchParams(unseen?.from === from ? unseen.to : old);
          if (next === fallback) params.delete(name);
          else params.set(name, next);
          unseen = { from, to: params };
          return params;
        },
        { replace: true, preventScrollReset: true },
      ),
    [fallback, name, setParams],
  );
  return [value, set] as const;
}
