import { Link } from "react-router";

import { plural } from "@/data/format/numbers";
import { useUserName, type Workspace } from "@/data/workspaces";
import { IconButton } from "@/ui/button/Button";
import { Icon } from "@/ui/icons/Icon";
import { Menu, type MenuEntry } from "@/ui/overlay/Menu";
import { StateBadge } from "@/ui/state/StateBadge";

import styles from "./Workspaces.module.css";

export function WorkspaceCard({ workspace, items }: { workspace: Workspace; items: MenuEntry[] }) {
  const nameOf = useUserName();
  const { id, name, numProjects = 0, numExperiments = 0 } = workspace;
  return (
    <li className={styles.card}>
      <div className={styles.cardTitle}>
        <Link to={`/workspaces/${id}/projects`} className={styles.cover}>
          {name}
        </Link>
        {workspace.pinned && <Icon name="pin" label="Pinned" size={14} />}
        <span className={styles.menu}>
          <Menu trigger={<IconButton icon="more" label={`Actions for ${name}`} small />} items={items} />
        </span>
      </div>
      <div className="row muted" style={{ fontSize: "var(--size-13)" }}>
        <span className="number">{plural(numProjects, "project")}</span>
        <span aria-hidden="true">·</span>
        <span className="number">{plural(numExperiments, "experiment")}</span>
      </div>
      <div className="row hint">
        {nameOf(workspace.userId)}
        {workspace.archived && <StateBadge state="ended" label="Archived" plain />}
        {workspace.state === "WORKSPACE_STATE_DELETING" && <StateBadge state="DELETING" plain />}
        {workspace.state === "WORKSPACE_STATE_DELETE_FAILED" && <StateBadge state="DELETE_FAILED" plain />}
      </div>
    </li>
  );
}
