/** The entries of the command palette and their order for a typed text. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { answer, api } from "@/api/client";
import { useBoards } from "@/data/boards/queries";
import { useRights } from "@/data/permissions/permissions";
import { usePreferences } from "@/data/preferences";
import { useUsers, useWorkspaces } from "@/data/workspaces";
import { LAUNCHES, useLaunch } from "@/features/launch/useLaunch";
import type { IconName } from "@/ui/icons/Icon";

import { jumpsTo } from "./jumps";
import { PLACES } from "./navigation";
import { useSignOut } from "./useSignOut";

export interface Entry {
  kind: "page" | "workspace" | "project" | "experiment" | "model" | "board" | "user" | "act";
  label: string;
  icon: IconName;
  to?: string;
  act?: () => void;
}

export function usePaletteEntries(text: string): Entry[] {
  const { mayAnywhere } = useRights();
  const { theme, storeTheme } = usePreferences();
  const launch = useLaunch();
  const signOut = useSignOut();
  const workspaces = useWorkspaces().data;
  const users = useUsers().data;
  const boards = useBoards().data;
  const found = useQuery({
    queryKey: ["palette", text],
    queryFn: () => search(text),
    enabled: text.trim().length > 0,
    placeholderData: (old) => old,
    staleTime: 10_000,
  }).data;
  return useMemo(() => {
    const dark = theme === "dark";
    return [
      ...PLACES.filter((each) => !each.needs || mayAnywhere(each.needs)).map((each) => ({
        kind: "page" as const,
        label: each.label,
        icon: each.icon,
        to: each.to,
      })),
      { kind: "page", label: "Settings", icon: "settings", to: "/settings" },
      { kind: "page", label: "Jobs", icon: "bars", to: "/jobs" },
      { kind: "page", label: "Health of the cluster", icon: "server", to: "/clusters/health" },
      { kind: "page", label: "Historical usage", icon: "bars", to: "/clusters/historical-usage" },
      { kind: "page", label: "Master log", icon: "log", to: "/clusters/logs" },
      ...(mayAnywhere("PERMISSION_TYPE_CREATE_EXPERIMENT")
        ? [{ kind: "act" as const, label: "New experiment", icon: "plus" as const, act: () => launch("experiment") }]
        : []),
      ...(mayAnywhere("PERMISSION_TYPE_CREATE_NSC") ? LAUNCHES : []).map((each) => ({
        kind: "act" as const,
        label: `Launch: ${each.label}`,
        icon: each.icon,
        act: () => launch(each.name),
      })),
      {
        kind: "act",
        label: dark ? "Use the light theme" : "Use the dark theme",
        icon: "settings",
        act: () => void storeTheme(dark ? "light" : "dark"),
      },
      { kind: "act", label: "Sign out", icon: "logout", act: signOut },
      {
        kind: "act",
        label: "Show the shortcuts of this page",
        icon: "info",
        act: () => dispatchEvent(new CustomEvent("det:shortcuts")),
      },
      ...(workspaces ?? []).map((each) => ({
        kind: "workspace" as const,
        label: each.name ?? "",
        icon: "folder" as const,
        to: `/workspaces/${each.id}`,
      })),
      ...(boards ?? []).map((each) => ({
        kind: "board" as const,
        label: each.name,
        icon: "board" as const,
        to: `/boards/${each.id}`,
      })),
      ...(users ?? []).map((each) => ({
        kind: "user" as const,
        label: each.displayName || each.username || "",
        icon: "users" as const,
        to: `/admin/user-management?q=${encodeURIComponent(each.username ?? "")}`,
      })),
      ...(found ?? []),
    ] as Entry[];
  }, [boards, found, launch, mayAnywhere, signOut, storeTheme, theme, users, workspaces]);
}

async function search(text: string): Promise<Entry[]> {
  const word = text.trim().replace(/^[>#@:]\s*/, "");
  const byId = /^\d+$/.test(word) ? Number(word) : undefined;
  const [experiments, models] = await Promise.all([
    answer(
      api.GET("/api/v1/experiments", {
        params: { query: { ...(byId ? {} : { name: word }), limit: 8, orderBy: "ORDER_BY_DESC" } },
      }),
    ),
    answer(api.GET("/api/v1/models", { params: { query: { name: word, limit: 5 } } })),
  ]);
  const entries: Entry[] = [];
  if (byId) {
    entries.push(
      { kind: "experiment", label: `#${byId} Experiment ${byId}`, icon: "runs", to: `/experiments/${byId}` },
      { kind: "experiment", label: `#${byId} Trial ${byId}`, icon: "runs", to: `/trials/${byId}` },
    );
  } else
    for (const each of experiments.experiments ?? [])
      entries.push({
        kind: "experiment",
        label: `#${each.id} ${each.name}`,
        icon: "runs",
        to: `/experiments/${each.id}`,
      });
  for (const each of models.models ?? [])
    entries.push({
      kind: "model",
      label: each.name ?? "",
      icon: "box",
      to: `/models/${encodeURIComponent(each.name ?? "")}`,
    });
  return entries;
}

const PREFIXES: Record<string, Entry["kind"][]> = {
  ">": ["act"],
  "#": ["experiment"],
  "@": ["user"],
  ":": ["page"],
};

/** The pages that the text names by number; then what matches at the start, inside, and in its letters. */
export function rank(entries: Entry[], text: string): Entry[] {
  return [...jumpsTo(text), ...matching(entries, text)];
}

function matching(entries: Entry[], text: string): Entry[] {
  const prefix = PREFIXES[text.charAt(0)];
  const word = (prefix ? text.slice(1) : text).trim().toLowerCase();
  const pool = prefix ? entries.filter((each) => prefix.includes(each.kind)) : entries;
  if (!word) return pool.filter((each) => prefix || each.kind !== "user");
  return pool
    .map((entry) => ({ entry, score: score(entry.label.toLowerCase(), word) }))
    .filter(({ score: points }) => points > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ entry }) => entry);
}

function score(label: string, word: string): number {
  if (label.startsWith(word)) return 4;
  if (label.includes(` ${word}`) || label.includes(`#${word}`)) return 3;
  if (label.includes(word)) return 2;
  let at = 0;
  for (const letter of label) if (letter === word[at]) at += 1;
  return at === word.length ? 1 : 0;
}
