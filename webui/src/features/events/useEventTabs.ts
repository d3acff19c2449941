import { useRights } from "@/data/permissions/permissions";
import type { Tab } from "@/ui/layout/Page";

/** Tabs for those who see both lists; nothing for the others. */
export function useEventTabs(): Tab[] | undefined {
  const { may } = useRights();
  if (!may("PERMISSION_TYPE_UPDATE_MASTER_CONFIG")) return undefined;
  return [
    { label: "Experiments and tasks", to: "/events", end: true },
    { label: "Administration", to: "/events/administration" },
  ];
}
