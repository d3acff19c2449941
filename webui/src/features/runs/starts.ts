/** Entries of a row's menu that start new work from it. */
import type { Rights } from "@/data/permissions/permissions";
import type { Table } from "@/data/query/fields";
import type { Sources } from "@/data/tensorboards";
import { mayStart } from "@/features/experiments/startMenu";
import type { MenuEntry } from "@/ui/overlay/Menu";

import type { Item } from "./item";

type Known = Pick<Rights, "may" | "mayAnywhere">;

const DETACHED = "It is detached: it runs outside of this cluster.";

export function startEntries(item: Item, table: Table, rights: Known, openTensorBoard: (items: readonly Item[]) => void): MenuEntry[] {
  const isPart = table === "run" && item.isMultitrial;
  const page = isPart ? `/experiments/${item.experimentId}/trials/${item.id}/overview` : `/experiments/${item.experimentId}/overview`;
  const allowed = mayStart(item, rights);
  const dialog = (name: string) => (item.unmanaged ? { disabledReason: DETACHED } : { to: `${page}?dialog=${name}` });
  return [
    allowed && !isPart && { label: "Fork …", icon: "fork", ...dialog("fork") },
    allowed && table === "run" && { label: "Continue in a new experiment …", icon: "external", ...dialog("branch") },
    allowed && { label: "Search hyperparameters …", icon: "search", ...dialog("search") },
    mayOpenBoard(item.workspaceId, rights) && {
      label: "Open TensorBoard",
      icon: "chart",
      disabledReason: item.unmanaged ? DETACHED : undefined,
      onSelect: () => openTensorBoard([item]),
    },
  ];
}

export function mayOpenBoard(workspaceId: number | undefined, rights: Known): boolean {
  return rights.may("PERMISSION_TYPE_CREATE_NSC", workspaceId);
}

/** What a TensorBoard of these rows shows; detached ones are left out. */
export function boardSources(items: readonly Item[], table: Table): Sources {
  const ids = items.filter((item) => !item.unmanaged).map((item) => item.id);
  return table === "run" ? { experimentIds: [], trialIds: ids } : { experimentIds: ids, trialIds: [] };
}
