import { useMemo, type ReactNode } from "react";
import { Link, useNavigate } from "react-router";

import { plural } from "@/data/format/numbers";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { patchProject, type Project } from "@/data/workspace/queries";
import { useUserName } from "@/data/workspaces";
import { IconButton } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { InlineText } from "@/ui/field/InlineText";
import { Menu, type MenuEntry } from "@/ui/overlay/Menu";
import { StateBadge } from "@/ui/state/StateBadge";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";
import { Time } from "@/ui/text/Time";

import styles from "./Workspaces.module.css";

export function ProjectCard({ project, items }: { project: Project; items: MenuEntry[] }) {
  const nameOf = useUserName();
  const active = project.numActiveExperiments ?? 0;
  return (
    <li className={styles.card}>
      <div className={styles.cardTitle}>
        <Link to={`/projects/${project.id}`} className={styles.cover}>
          {project.name}
        </Link>
        {project.key && <span className="hint mono">{project.key}</span>}
        <span className={styles.menu}>
          <Menu trigger={<IconButton icon="more" label={`Actions for ${project.name}`} small />} items={items} />
        </span>
      </div>
      <p className={styles.text}>{project.description || <span className="hint">No description</span>}</p>
      <div className="row muted" style={{ fontSize: "var(--size-13)" }}>
        <span className="number">{plural(project.numExperiments ?? 0, "experiment")}</span>
        {active > 0 && <StateBadge state="RUNNING" label={`${active} active`} plain />}
        {project.archived && <StateBadge state="ended" label="Archived" plain />}
      </div>
      <div className="row hint">
        {nameOf(project.userId)}
        {project.lastExperimentStartedAt && (
          <span>
            last experiment <Time at={project.lastExperimentStartedAt} />
          </span>
        )}
      </div>
    </li>
  );
}

export function ProjectList({
  projects,
  menuOf,
  empty,
}: {
  projects: Project[];
  menuOf(project: Project): MenuEntry[];
  empty: ReactNode;
}) {
  const navigate = useNavigate();
  const nameOf = useUserName();
  const { may } = useRights();
  const act = useAct();
  const columns = useMemo<Column<Project>[]>(
    () => [
      {
        id: "name",
        header: "Name",
        width: 200,
        pin: true,
        sortable: true,
        value: (each) => each.name,
        render: (each) => <Link to={`/projects/${each.id}`}>{each.name}</Link>,
      },
      {
        id: "description",
        header: "Description",
        width: 240,
        grow: true,
        value: (each) => each.description,
        render: (each) => (
          <InlineText
            label={`description of ${each.name}`}
            value={each.description ?? ""}
            onSave={
              may("PERMISSION_TYPE_UPDATE_PROJECT", each.workspaceId) && !each.archived && !each.immutable
                ? (description) =>
                    act(() => patchProject(each.id ?? 0, { description }), {
                      done: "Saved",
                      failed: `Project ${each.name}`,
                      undo: () => patchProject(each.id ?? 0, { description: each.description ?? "" }),
                      keys: [keys.projects(each.workspaceId ?? 0)],
                    })
                : undefined
            }
          />
        ),
      },
      { id: "key", header: "Key", width: 90, sortable: true, value: (each) => each.key, render: (each) => <span className="mono">{each.key}</span> },
      { id: "experiments", header: "Experiments", type: "number", align: "end", width: 110, sortable: true, value: (each) => each.numExperiments, render: (each) => each.numExperiments },
      { id: "active", header: "Active", type: "number", align: "end", width: 80, sortable: true, value: (each) => each.numActiveExperiments, render: (each) => each.numActiveExperiments },
      { id: "last", header: "Last experiment", type: "date", width: 130, sortable: true, value: (each) => each.lastExperimentStartedAt, render: (each) => <Time at={each.lastExperimentStartedAt} /> },
      { id: "owner", header: "Owner", width: 120, sortable: true, value: (each) => nameOf(each.userId), render: (each) => nameOf(each.userId) },
      { id: "archived", header: "Archived", width: 100, sortable: true, value: (each) => each.archived, render: (each) => (each.archived ? "Archived" : "") },
    ],
    [act, may, nameOf],
  );
  return (
    <DataTable
      label="Projects"
      rows={projects}
      rowKey={(each) => each.id ?? 0}
      rowName={(each) => each.name ?? ""}
      columns={columns}
      rowMenu={menuOf}
      onOpen={(each) => void navigate(`/projects/${each.id}`)}
      empty={empty}
    />
  );
}
