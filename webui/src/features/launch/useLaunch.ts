/** Opens a launch dialog over the page that one is on: `?launch=notebook`. */
import { useCallback } from "react";
import { useSearchParams } from "react-router";

import type { LaunchKind } from "@/data/launches";
import { useRights } from "@/data/permissions/permissions";
import type { IconName } from "@/ui/icons/Icon";
import type { MenuEntry } from "@/ui/overlay/Menu";

export type LaunchName = LaunchKind | "tensorboard" | "experiment";

export const LAUNCHES: readonly { name: LaunchName; label: string; icon: IconName }[] = [
  { name: "notebook", label: "JupyterLab", icon: "book" },
  { name: "shell", label: "Shell", icon: "terminal" },
  { name: "command", label: "Command", icon: "code" },
  { name: "tensorboard", label: "TensorBoard", icon: "chart" },
];

/** What a dialog starts from: the id of a project, the name of a template. */
export type LaunchFrom = Partial<Record<(typeof FROM)[number], string>>;

const FROM = ["project", "template"] as const;

/** Its word in the address, where pages have words of their own. */
export function launchWord(from: (typeof FROM)[number]): string {
  return `launch.${from}`;
}

export function useLaunch(): (name: LaunchName, from?: LaunchFrom) => void {
  const [, setParams] = useSearchParams();
  return useCallback(
    (name, from = {}) =>
      setParams((old) => {
        const next = new URLSearchParams(old);
        next.set("launch", name);
        for (const key of FROM) if (from[key]) next.set(launchWord(key), from[key]);
        return next;
      }),
    [setParams],
  );
}

/** The address without the dialog. */
export function withoutLaunch(params: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const word of ["launch", ...FROM.map(launchWord)]) next.delete(word);
  return next;
}

/** True where the user may start tasks in at least one workspace. */
export function useMayLaunch(): boolean {
  return useRights().mayAnywhere("PERMISSION_TYPE_CREATE_NSC");
}

export function useLaunchMenu(): MenuEntry[] {
  const launch = useLaunch();
  return LAUNCHES.map(({ name, label, icon }) => ({ label: `${label} …`, icon, onSelect: () => launch(name) }));
}
