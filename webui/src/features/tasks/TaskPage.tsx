import { useMemo } from "react";
import { Link, useLocation, useNavigate, useParams } from "react-router";

import { taskLogs } from "@/data/logs/taskLogs";
import { useTasks, useTaskTree, type InteractiveTask } from "@/data/tasks";
import { useUserName } from "@/data/workspaces";
import { StoryView } from "@/features/experiments/StoryView";
import { IconButton } from "@/ui/button/Button";
import { LogViewer } from "@/ui/log/LogViewer";
import { Page } from "@/ui/layout/Page";
import { Menu } from "@/ui/overlay/Menu";
import { StateBadge } from "@/ui/state/StateBadge";
import { Time } from "@/ui/text/Time";

import { TaskActs } from "./TaskActs";
import { TaskConfig } from "./TaskConfig";
import { TaskTree } from "./TaskTree";
import { TerminalTab } from "./TerminalTab";
import { useTaskMenu } from "./useTaskMenu";

export type TaskTab = "logs" | "story" | "config" | "tree" | "terminal";

/** `/:kind/:id/:tab` of a task that is no trial. */
export default function TaskPage({ kind, tab }: { kind: string; tab: TaskTab }) {
  const id = useParams()["taskId"] ?? "";
  const tree = useTaskTree(id, kind === "generic");
  // Lists show ended interactive tasks for some days only: the page works without.
  const list = useTasks();
  const listed = list.data?.find((each) => each.id === id);
  const task = tree.data?.find((each) => each.id === id) ?? listed;
  const { menuOf, dialog } = useTaskMenu();
  const base = `/${kind}/${encodeURIComponent(id)}`;
  const related = tree.data?.length ?? 0;
  return (
    <Page
      name={task ? task.name : `${kind} ${id.slice(0, 8)}`}
      crumbs={[{ label: "Tasks", to: "/tasks" }, { label: kind, to: `/tasks?type=${kind}` }]}
      badge={task && <Facts task={task} />}
      actions={
        task && (
          <>
            <TaskActs task={task} />
            <Menu trigger={<IconButton icon="more" label={`More actions on ${task.name}`} />} items={menuOf(task)} />
            {dialog}
          </>
        )
      }
      flush={tab === "logs" || tab === "terminal"}
      tabs={[
        ...(kind === "shell" ? [{ label: "Terminal", to: `${base}/terminal` }] : []),
        { label: "Log", to: `${base}/logs` },
        { label: "Story", to: `${base}/story` },
        { label: "Configuration", to: `${base}/config` },
        ...(kind === "generic" ? [{ label: related > 1 ? `Tree ${related}` : "Tree", to: `${base}/tree` }] : []),
      ]}
    >
      {tab === "terminal" && <TerminalTab id={id} task={task} isListed={list.isSuccess && !list.isFetching} />}
      {tab === "logs" && <Log kind={kind} id={id} />}
      {tab === "story" && <StoryView of="tasks" id={id} />}
      {tab === "config" && <TaskConfig id={id} />}
      {tab === "tree" && <TaskTree query={tree} id={id} />}
    </Page>
  );
}

function Facts({ task }: { task: InteractiveTask }) {
  const userName = useUserName();
  return (
    <>
      <StateBadge state={task.state} />
      <span className="hint">
        by {userName(task.userId)}
        {task.resourcePool && ` in ${task.resourcePool}`}, submitted <Time at={task.startTime} />
        {task.generic?.forkedFrom && (
          <>
            , forked from <Link to={`/generic/${task.generic.forkedFrom}/logs`}>{task.generic.forkedFrom.slice(0, 8)}</Link>
          </>
        )}
      </span>
      {task.generic?.reason && <span className="hint">{task.generic.reason}</span>}
    </>
  );
}

function Log({ kind, id }: { kind: string; id: string }) {
  const source = useMemo(() => taskLogs(id), [id]);
  const { hash } = useLocation();
  const navigate = useNavigate();
  return (
    <LogViewer
      label={`Log of ${kind} ${id}`}
      source={source}
      target={hash}
      onLink={(next) => void navigate(next, { replace: true })}
      empty="The task has written nothing yet."
    />
  );
}
