/** The places of the side bar and of the command palette. */
import type { IconName } from "@/ui/icons/Icon";
import type { Permission } from "@/data/permissions/permissions";
import { shell as text } from "@/strings/shell";

export interface Place {
  to: string;
  label: string;
  icon: IconName;
  /** The letter after `g`. */
  key?: string;
  /** Shown only to users who may do this somewhere. */
  needs?: Permission;
  end?: boolean;
}

export const PLACES: Place[] = [
  { to: "/dashboard", label: text.home, icon: "home", key: "h" },
  { to: "/projects/1", label: text.uncategorized, icon: "runs", key: "r" },
  { to: "/workspaces", label: text.workspaces, icon: "folder", key: "w", end: true },
  { to: "/tasks", label: text.tasks, icon: "terminal", key: "t" },
  { to: "/boards", label: text.boards, icon: "board", key: "b" },
  { to: "/models", label: text.models, icon: "box", key: "m" },
  { to: "/clusters", label: text.cluster, icon: "server", key: "c" },
  { to: "/events", label: text.events, icon: "clock", key: "e" },
  { to: "/templates", label: text.templates, icon: "template" },
  { to: "/webhooks", label: text.webhooks, icon: "webhook", needs: "PERMISSION_TYPE_VIEW_WEBHOOKS" },
  {
    to: "/policies",
    label: text.policies,
    icon: "shield",
    needs: "PERMISSION_TYPE_VIEW_GLOBAL_CONFIG_POLICIES",
  },
  { to: "/admin", label: text.admin, icon: "users", key: "a", needs: "PERMISSION_TYPE_ADMINISTRATE_USER" },
];
