import { useEffect, useRef, useState, type ReactNode } from "react";

import { useLocalNow } from "@/data/now";
import { isFinished, stateFamily } from "@/data/states";
import { useTaskReady } from "@/data/taskReady";
import type { InteractiveTask } from "@/data/tasks";
import { shellSocket } from "@/data/terminal/socket";
import { TerminalSession, type TerminalStatus } from "@/data/terminal/session";
import { WhyView } from "@/features/experiments/WhyView";
import { Button } from "@/ui/button/Button";
import { ButtonLink } from "@/ui/button/ButtonLink";
import { Empty, Loading } from "@/ui/feedback/Feedback";
import type { ScreenHandle } from "@/ui/terminal/Screen";
import { Terminal } from "@/ui/terminal/Terminal";

/** The terminal of a shell; until it runs what it waits for, and after its end why it ended. */
export function TerminalTab({ id, task, isListed }: { id: string; task: InteractiveTask | undefined; isListed: boolean }) {
  const ended = task ? isFinished(task.state) : isListed;
  const ready = useTaskReady(id, !ended);
  const [wasReady, setWasReady] = useState(false);
  if (ready && !wasReady) setWasReady(true);
  // The page of a shell that ends keeps its last output.
  if (ready || wasReady) return <Connected key={id} id={id} name={task?.name ?? id} />;
  if (ended)
    return (
      <Empty title="The shell has ended" action={<ButtonLink to={`/shell/${id}/logs`}>Log</ButtonLink>}>
        {task?.exitStatus || "Its log says more."}
      </Empty>
    );
  if (task && stateFamily(task.state) === "waiting") return <WhyView jobId={task.jobId} />;
  return <Loading what="the shell" rows={2} />;
}

const FIRST: TerminalStatus = { state: "connecting", reason: "", retryAt: 0 };

function Connected({ id, name }: { id: string; name: string }) {
  const [status, setStatus] = useState(FIRST);
  const [screen, setScreen] = useState<ScreenHandle>();
  const session = useRef<TerminalSession>(undefined);
  const size = useRef({ columns: 80, rows: 24 });
  useEffect(() => {
    if (!screen) return;
    const made = new TerminalSession(() => shellSocket(id), {
      onOutput: (bytes) => screen.write(bytes),
      onStatus: (next) => {
        setStatus(next);
        if (next.state === "waiting" || next.state === "ended") screen.note(next.reason);
      },
      onSession: () => screen.note("A new session."),
    });
    session.current = made;
    made.resize(size.current);
    made.open();
    screen.focus();
    return () => made.close();
  }, [id, screen]);
  const isOver = status.state === "waiting" || status.state === "ended";
  return (
    <Terminal
      label={`Terminal of ${name}`}
      status={<StatusText status={status} />}
      actions={
        isOver && (
          <Button
            small
            look="primary"
            icon="refresh"
            onClick={() => {
              session.current?.open();
              screen?.focus();
            }}
          >
            New session
          </Button>
        )
      }
      onReady={setScreen}
      onInput={(text) => session.current?.type(text)}
      onBinary={(bytes) => session.current?.typeBinary(bytes)}
      onSize={(columns, rows) => {
        size.current = { columns, rows };
        session.current?.resize(size.current);
      }}
    />
  );
}

function StatusText({ status }: { status: TerminalStatus }): ReactNode {
  switch (status.state) {
    case "connecting":
      return "Connecting …";
    case "open":
      return "Connected. The programs in this terminal end when the page is closed.";
    case "waiting":
      return <Waiting status={status} />;
    case "ended":
      return status.reason;
  }
}

function Waiting({ status }: { status: TerminalStatus }) {
  const seconds = Math.max(1, Math.ceil((status.retryAt - useLocalNow()) / 1000));
  return (
    <>
      {status.reason} A new session opens <span aria-hidden="true">in {seconds} s</span>.
    </>
  );
}
