/** One value of the view in the address. */
import { useCallback } from "react";
import { useSearchParams } from "react-router";

/** The value of `?name=`, and the function that replaces it; the default is left out. */
export function useParam<T extends string = string>(
  name: string,
  fallback: NoInfer<T>,
): readonly [T, (value: T) => void] {
  const [params, setParams] = useSearchParams();
  const value = (params.get(name) as T | null) ?? fallback;
  const set = useCallback(
    (next: T) =>
      setParams(
        (old) => {
          const params = new URLSearchParams(old);
          if (next === fallback) params.delete(name);
          else params.set(name, next);
          return params;
        },
        { replace: true, preventScrollReset: true },
      ),
    [fallback, name, setParams],
  );
  return [value, set] as const;
}
