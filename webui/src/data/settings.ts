/**
 * Settings of the user, kept on the master (`/api/v1/users/setting`).
 *
 * An entry has a storage path, a key and a JSON value, as the original's web UI has them.
 */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "./keys";
import { useSession } from "./session";

type Entry = Schemas["UserWebSetting"];

function useEntriesQuery() {
  const { status } = useSession();
  return useQuery({
    queryKey: keys.settings(),
    queryFn: async () => (await answer(api.GET("/api/v1/users/setting", {}))).settings ?? [],
    enabled: status === "signed-in",
    staleTime: 60_000,
  });
}

function useEntries(): Entry[] {
  return useEntriesQuery().data ?? [];
}

/** False while defaults stand in for what is stored; true also when it cannot be read. */
export function useSettingsLoaded(): boolean {
  return !useEntriesQuery().isPending;
}

/** One setting with its default, and the function that stores it. */
export function useSetting<T>(storagePath: string, key: string, fallback: T) {
  const cache = useQueryClient();
  const stored = useEntries().find((e) => e.storagePath === storagePath && e.key === key)?.value;
  const value = useMemo<T>(() => parse(stored, fallback), [stored, fallback]);
  const set = useCallback(
    async (next: T) => {
      const entry: Entry = { storagePath, key, value: JSON.stringify(next) };
      cache.setQueryData<Entry[]>(keys.settings(), (old = []) => [
        ...old.filter((e) => e.storagePath !== storagePath || e.key !== key),
        entry,
      ]);
      await answer(api.POST("/api/v1/users/setting", { body: { settings: [entry] } }));
    },
    [cache, key, storagePath],
  );
  return [value, set] as const;
}

function parse<T>(text: string | undefined, fallback: T): T {
  if (text === undefined || text === "") return fallback;
  try {
    return JSON.parse(text) as T;
  } catch {
    return fallback;
  }
}
