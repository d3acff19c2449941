import { useSearchParams } from "react-router";

import { useUser } from "@/data/session";
import { isFinished } from "@/data/states";
import { TASK_KINDS, useTasks, type InteractiveTask } from "@/data/tasks";
import { useUsers, useWorkspaces } from "@/data/workspaces";
import { LaunchMenu } from "@/features/launch/LaunchMenu";
import { Checkbox, Select, TextField } from "@/ui/field/Field";
import { QueryView } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";

import { TaskTable } from "./TaskTable";

/** `/tasks`: commands, notebooks, shells, TensorBoards and generic tasks in one list. */
export default function TasksPage() {
  const query = useTasks();
  const [params, setParams] = useSearchParams();
  const change = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    if (value) next.set(name, value);
    else next.delete(name);
    setParams(next, { replace: true });
  };
  const kind = params.get("type") ?? "";
  const text = params.get("q") ?? "";
  const workspace = params.get("workspace") ?? "";
  const ended = params.get("ended") === "1";
  const user = params.get("user") ?? "";
  const me = String(useUser().id ?? "");
  const others = (useUsers().data ?? []).filter((each) => String(each.id) !== me);
  const workspaces = useWorkspaces().data ?? [];
  return (
    <Page name="Tasks" actions={<LaunchMenu />}>
      <div className="stack">
        <div className="row">
          <TextField label="Search by name" hideLabel placeholder="Search by name" value={text} onChange={(event) => change("q", event.target.value)} />
          <Select label="Kind" hideLabel value={kind} onValue={(value) => change("type", value)} options={[{ value: "", label: "All kinds" }, ...TASK_KINDS]} />
          <Select
            label="Workspace"
            hideLabel
            value={workspace}
            onValue={(value) => change("workspace", value)}
            options={[
              { value: "", label: "All workspaces" },
              ...workspaces.map((each) => ({ value: String(each.id), label: each.name ?? "" })),
            ]}
          />
          <Select
            label="User"
            hideLabel
            value={user}
            onValue={(value) => change("user", value)}
            options={[
              { value: "", label: "All users" },
              { value: me, label: "Mine" },
              ...others.map((each) => ({ value: String(each.id), label: each.displayName || each.username || "" })),
            ]}
          />
          <Checkbox label="Show ended ones" checked={ended} onValue={(on) => change("ended", on ? "1" : "")} />
        </div>
        <QueryView query={query} what="the tasks">
          {(tasks) => <TaskTable tasks={filtered(tasks, { kind, text, workspace, user, ended })} total={tasks.length} />}
        </QueryView>
      </div>
    </Page>
  );
}

export interface TaskFilter {
  kind: string;
  text: string;
  workspace: string;
  /** The id of a user; empty for all. */
  user: string;
  ended: boolean;
}

export function filtered(tasks: readonly InteractiveTask[], filter: TaskFilter): InteractiveTask[] {
  const word = filter.text.trim().toLowerCase();
  return tasks.filter(
    (task) =>
      (!filter.kind || task.kind === filter.kind) &&
      (!filter.workspace || String(task.workspaceId) === filter.workspace) &&
      (!filter.user || String(task.userId) === filter.user) &&
      (filter.ended || !isFinished(task.state)) &&
      (!word || task.name.toLowerCase().includes(word) || task.id.startsWith(word)),
  );
}
