import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { serverNow } from "@/api/clock";
import { answer, api, type Schemas } from "@/api/client";
import { durationOf, isoOf, localOf, scheduleRefusal } from "@/data/forms/schedule";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { QueryView } from "@/ui/feedback/Feedback";
import { Segments, TextArea, TextField } from "@/ui/field/Field";
import { Card, Facts } from "@/ui/layout/Card";
import { Time } from "@/ui/text/Time";

import styles from "../Admin.module.css";

type Message = Schemas["ClusterMessage"];

const PATH = "/api/v1/master/cluster_message" as const;
const KEY = ["cluster-message"] as const;
const MAX_LENGTH = 250;

export default function MessageTab() {
  const query = useQuery({
    queryKey: KEY,
    queryFn: async () => (await answer(api.GET(PATH, {}))).clusterMessage ?? null,
    refetchInterval: 30_000,
  });
  return (
    <QueryView query={query} what="the message">
      {(message) => (
        <div className="stack" style={{ gap: 16, maxWidth: 760 }}>
          <Current message={message} />
          <Editor key={message?.createdTime} message={message} />
        </div>
      )}
    </QueryView>
  );
}

function Current({ message }: { message: Message | null }) {
  const act = useAct();
  const { may } = useRights();
  if (!message)
    return (
      <Card title="Now">
        <p className="hint">No message is set.</p>
      </Card>
    );
  const clear = () =>
    void act(() => answer(api.DELETE(PATH, {})), {
      done: "Cleared the message",
      failed: "The message stays",
      undo: () => answer(api.PUT(PATH, { body: bodyOf(message) })),
      keys: [KEY, keys.master()],
    });
  const ahead = message.startTime && Date.parse(message.startTime) > serverNow();
  return (
    <Card
      title={ahead ? "Scheduled" : "Now"}
      actions={
        may("PERMISSION_TYPE_UPDATE_MASTER_CONFIG") && (
          <Button small icon="trash" onClick={clear}>
            Clear
          </Button>
        )
      }
    >
      <Facts
        facts={[
          ["Message", message.message],
          ["From", <Time key="from" at={message.startTime} />],
          ["Until", message.endTime ? <Time key="until" at={message.endTime} /> : "it is cleared"],
          ["Written", <Time key="written" at={message.createdTime} />],
        ]}
      />
    </Card>
  );
}

function bodyOf({ message = "", startTime, endTime }: Message): Schemas["SetClusterMessageRequest"] {
  return { message, ...(startTime ? { startTime } : {}), ...(endTime ? { endTime } : {}) };
}

type Until = "cleared" | "hours" | "time";

function Editor({ message }: { message: Message | null }) {
  const act = useAct();
  const { may } = useRights();
  const [text, setText] = useState(message?.message ?? "");
  const [starts, setStarts] = useState<"now" | "time">("now");
  const [start, setStart] = useState(localOf(serverNow()));
  const [until, setUntil] = useState<Until>("cleared");
  const [hours, setHours] = useState("2");
  const [end, setEnd] = useState(localOf(serverNow() + 2 * 3_600_000));
  if (!may("PERMISSION_TYPE_UPDATE_MASTER_CONFIG")) return null;
  const refusal =
    !text.trim()
      ? "Write a message."
      : scheduleRefusal({
          start: starts === "now" ? undefined : start,
          end: until === "time" ? end : undefined,
          hours: until === "hours" ? hours : undefined,
        });
  const save = () =>
    act(
      () =>
        answer(
          api.PUT(PATH, {
            body: {
              message: text.trim(),
              startTime: starts === "now" ? new Date(serverNow()).toISOString() : isoOf(start),
              ...(until === "hours" ? { duration: durationOf(hours) } : {}),
              ...(until === "time" ? { endTime: isoOf(end) } : {}),
            },
          }),
        ),
      { done: "The message is set", failed: "The message is not set", keys: [KEY, keys.master()] },
    );
  return (
    <Card title={message ? "Replace it" : "New message"}>
      <form
        className="stack"
        style={{ gap: 14 }}
        onSubmit={(event) => {
          event.preventDefault();
          if (!refusal) void save();
        }}
      >
        <TextArea label="Message" hint={`${text.length} of ${MAX_LENGTH} characters`} maxLength={MAX_LENGTH} value={text} onChange={(event) => setText(event.target.value)} />
        <div className="row" style={{ gap: 12, alignItems: "end" }}>
          <Segments
            label="Start"
            value={starts}
            onValue={setStarts}
            options={[
              { value: "now", label: "Shown at once" },
              { value: "time", label: "Shown from …" },
            ]}
          />
          {starts === "time" && <TextField label="From" type="datetime-local" value={start} onChange={(event) => setStart(event.target.value)} />}
        </div>
        <div className="row" style={{ gap: 12, alignItems: "end" }}>
          <Segments
            label="End"
            value={until}
            onValue={setUntil}
            options={[
              { value: "cleared", label: "Until it is cleared" },
              { value: "hours", label: "For some hours" },
              { value: "time", label: "Until …" },
            ]}
          />
          {until === "hours" && <TextField label="Hours" inputMode="decimal" value={hours} onChange={(event) => setHours(event.target.value)} />}
          {until === "time" && <TextField label="Until" type="datetime-local" value={end} onChange={(event) => setEnd(event.target.value)} />}
        </div>
        <div>
          <h3>Preview</h3>
          <div className={styles.preview}>{text.trim() || <span className="muted">All users see the message here, above every page.</span>}</div>
        </div>
        <div className="row">
          <Button type="submit" look="primary" disabledReason={refusal}>
            Set the message
          </Button>
        </div>
      </form>
    </Card>
  );
}
