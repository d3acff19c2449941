import { useParams } from "react-router";

import { BASE_PATH } from "@/api/client";
import { isFinished, stateFamily } from "@/data/states";
import { useTaskReady } from "@/data/taskReady";
import { hasPage, useTasks, type InteractiveTask } from "@/data/tasks";
import { WhyView } from "@/features/experiments/WhyView";
import { ButtonLink } from "@/ui/button/ButtonLink";
import { Empty, Loading } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";
import { MissingPage, PageQuery } from "@/ui/layout/PageQuery";
import { StateBadge } from "@/ui/state/StateBadge";

/** `/wait/:kind/:id`: waits until the task serves its page, then links to it and shows it. */
export default function WaitPage() {
  const { kind = "", taskId = "" } = useParams();
  const query = useTasks();
  return (
    <PageQuery query={query} what="the task" name="Task">
      {(tasks) => {
        const task = tasks.find((each) => each.id === taskId);
        // The list may be older than a task that was just launched.
        if (!task) return query.isFetching ? <Page name="Task"><Loading what={`the ${kind}`} rows={2} /></Page> : <MissingPage what={`${kind} ${taskId}`} />;
        return <Waiting key={task.id} kind={kind} task={task} />;
      }}
    </PageQuery>
  );
}

function Waiting({ kind, task }: { kind: string; task: InteractiveTask }) {
  const address = `${BASE_PATH}${task.serviceAddress || `/proxy/${task.id}/`}`;
  const ended = isFinished(task.state);
  // Our own servers report when they answer; a command with a port of its own says nothing.
  const reports = hasPage(task.kind);
  const reported = useTaskReady(task.id, reports && !ended);
  const ready = !ended && (reports ? reported : stateFamily(task.state) === "running");
  return (
    <Page
      name={task.name}
      crumbs={[{ label: "Tasks", to: "/tasks" }, { label: kind }]}
      badge={<StateBadge state={task.state} />}
      flush={ready}
      actions={
        <>
          {ready && (
            <a href={address} target="_blank" rel="noreferrer">
              Open in a tab of its own
            </a>
          )}
          <ButtonLink to={`/${kind}/${task.id}/logs`} icon="log">
            Log
          </ButtonLink>
        </>
      }
    >
      {ready ? (
        <Frame title={task.name} address={address} />
      ) : ended ? (
        <Empty title="The task has ended">{task.exitStatus || "Its log says more."}</Empty>
      ) : stateFamily(task.state) === "waiting" ? (
        <WhyView jobId={task.jobId} />
      ) : (
        <Loading what={task.name} rows={2} />
      )}
    </Page>
  );
}

/**
 * Rights of a task's page: it may not navigate the window that shows it. For pages of other
 * users the master's proxy takes the origin away as well.
 */
const RIGHTS = [
  "allow-scripts",
  "allow-same-origin", // its own requests carry its login
  "allow-forms",
  "allow-modals",
  "allow-downloads",
  "allow-popups",
  "allow-popups-to-escape-sandbox",
].join(" ");

function Frame({ title, address }: { title: string; address: string }) {
  return (
    <iframe
      title={title}
      src={address}
      sandbox={RIGHTS}
      allow="clipboard-read; clipboard-write; fullscreen"
      style={{ flex: "1 1 auto", width: "100%", border: 0 }}
    />
  );
}
