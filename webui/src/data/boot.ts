/** What the master writes into the page, so that the first list needs no request before it. */
import type { Schemas } from "@/api/client";

export interface Boot {
  master?: Schemas["GetMasterResponse"];
  user?: Schemas["User"];
  permissions?: Schemas["GetPermissionsSummaryResponse"];
  settings?: Schemas["UserWebSetting"][];
  workspaces?: Schemas["Workspace"][];
  /** All of them, unless they are many. */
  users?: Schemas["User"][];
  /** Of the address that the browser came with. */
  project?: Schemas["Project"];
}

export function readBoot(): Boot {
  const element = document.getElementById("boot");
  if (!element?.textContent) return {};
  try {
    return JSON.parse(element.textContent) as Boot;
  } catch {
    return {};
  }
}

export const boot: Boot = readBoot();
