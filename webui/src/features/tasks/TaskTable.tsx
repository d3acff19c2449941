import { useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";

import { useRights } from "@/data/permissions/permissions";
import { rules } from "@/data/rules";
import { isFinished, stateFamily } from "@/data/states";
import { hasPage, type InteractiveTask } from "@/data/tasks";
import { useUserName, useWorkspaces } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { Empty } from "@/ui/feedback/Feedback";
import { StateBadge } from "@/ui/state/StateBadge";
import { DataTable } from "@/ui/table/DataTable";
import { isSelected, NOTHING } from "@/ui/table/selection";
import { SelectionBar } from "@/ui/table/SelectionBar";
import type { Column, Selection } from "@/ui/table/types";
import { Duration, Time } from "@/ui/text/Time";

import { eligibleFor, TASK_ACTS, type TaskAct } from "./eligible";
import { useTaskActs } from "./useTaskActs";
import { useTaskMenu } from "./useTaskMenu";

const keyOf = (task: InteractiveTask) => task.id;
const nameOf = (task: InteractiveTask) => task.name;
const ICONS = { pause: "pause", unpause: "play", kill: "close" } as const;

export function TaskTable({ tasks, total }: { tasks: InteractiveTask[]; total: number }) {
  const navigate = useNavigate();
  const columns = useColumns();
  const { menuOf, dialog } = useTaskMenu();
  const act = useTaskActs();
  const { mayAny } = useRights();
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const chosen = tasks.filter((task) => isSelected(selection, task.id) && mayAny(rules.tasks.needs, task.workspaceId));
  const mayAct = tasks.some((task) => mayAny(rules.tasks.needs, task.workspaceId));
  const start = async (name: TaskAct) => {
    if (await act(name, chosen)) setSelection(NOTHING);
  };
  if (tasks.length === 0)
    return total > 0 ? (
      <Empty title="No task matches">{total} tasks are hidden by the filters above.</Empty>
    ) : (
      <Empty title="No tasks yet" command="det notebook start">
        Notebooks, shells, commands, TensorBoards and generic tasks appear here.
      </Empty>
    );
  return (
    <>
      <DataTable
        label="Tasks"
        rows={tasks}
        rowKey={keyOf}
        rowName={nameOf}
        columns={columns}
        rowMenu={menuOf}
        {...(mayAct ? { selection, onSelection: setSelection } : {})}
        onOpen={(task) =>
          void navigate(
            hasPage(task.kind) && !isFinished(task.state)
              ? `/wait/${task.kind}/${task.id}`
              : `/${task.kind}/${task.id}/logs`,
          )
        }
      />
      <SelectionBar selection={selection} onSelection={setSelection} total={tasks.length} listed={tasks.map(keyOf)} word="task">
        {TASK_ACTS.map(({ id: name, label, done, isGeneric }) => {
          const { eligible } = eligibleFor(name, chosen);
          if (isGeneric && !chosen.some((task) => task.generic)) return null;
          return (
            <Button
              key={name}
              small
              icon={ICONS[name]}
              {...(isGeneric ? {} : { look: "danger" as const })}
              disabledReason={eligible.length === 0 ? `None of the selected tasks can be ${done.toLowerCase()} now.` : undefined}
              onClick={() => void start(name)}
            >
              {label} {eligible.length || ""}
            </Button>
          );
        })}
      </SelectionBar>
      {dialog}
    </>
  );
}

function Name({ task }: { task: InteractiveTask }) {
  if (task.kind !== "shell" || stateFamily(task.state) !== "running") return task.name;
  return (
    <>
      {task.name} <Link to={`/shell/${task.id}/terminal`}>Terminal</Link>
    </>
  );
}

function useColumns(): Column<InteractiveTask>[] {
  const userName = useUserName();
  const workspaces = useWorkspaces().data;
  return useMemo<Column<InteractiveTask>[]>(() => {
    const workspaceOf = (task: InteractiveTask) => workspaces?.find(({ id }) => id === task.workspaceId)?.name ?? "";
    return [
      { id: "name", header: "Name", width: 180, grow: true, sortable: true, render: (task) => <Name task={task} />, value: (task) => task.name },
      { id: "kind", header: "Kind", width: 104, sortable: true, render: (task) => task.kind, value: (task) => task.kind },
      { id: "state", header: "State", width: 122, type: "state", sortable: true, render: (task) => <StateBadge state={task.state} plain />, value: (task) => task.state },
      { id: "user", header: "User", width: 110, sortable: true, render: (task) => userName(task.userId), value: (task) => userName(task.userId) },
      { id: "workspace", header: "Workspace", width: 120, sortable: true, render: workspaceOf, value: workspaceOf },
      { id: "pool", header: "Pool", width: 100, sortable: true, render: (task) => task.resourcePool, value: (task) => task.resourcePool },
      { id: "started", header: "Submitted", width: 112, type: "date", sortable: true, render: (task) => <Time at={task.startTime} />, value: (task) => task.startTime ?? "" },
      {
        id: "duration",
        header: "Duration",
        width: 88,
        align: "end",
        render: (task) =>
          // Lists of interactive tasks have no time of the end.
          isFinished(task.state) && !task.generic?.endTime ? (
            <span className="muted">–</span>
          ) : (
            <Duration start={task.startTime} end={task.generic?.endTime ?? undefined} />
          ),
      },
    ];
  }, [userName, workspaces]);
}
