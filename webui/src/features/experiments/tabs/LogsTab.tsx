import { useMemo, useState } from "react";
import { useLocation, useNavigate } from "react-router";

import { serverNow } from "@/api/clock";
import { trialLogs } from "@/data/logs/taskLogs";
import { isFinished } from "@/data/states";
import { Empty } from "@/ui/feedback/Feedback";
import { LogViewer } from "@/ui/log/LogViewer";

import { useExperimentContext } from "../context";

/** The last lines of a run may be on their way for so long after its end. */
const LATE_MS = 15_000;

/** The log of a run; `#L812` names a line. */
export default function LogsTab() {
  const { trial } = useExperimentContext();
  const { hash } = useLocation();
  const navigate = useNavigate();
  const id = trial?.id;
  const task = trial?.taskId;
  // A run that ends while it is watched is followed to its last line.
  const [watched, setWatched] = useState<number>();
  const isEnded = isFinished(trial?.state) && Date.parse(trial?.endTime ?? "") < serverNow() - LATE_MS;
  const follows = !isEnded || watched === id;
  if (!isEnded && watched !== id) setWatched(id);
  const source = useMemo(
    () => (id === undefined ? undefined : trialLogs(id, task, { ended: !follows })),
    [id, task, follows],
  );
  if (!source)
    return <Empty title="No log yet">The log starts when the trial gets its slots.</Empty>;
  return (
    <LogViewer
      label={`Log of trial ${id}`}
      source={source}
      startTime={trial?.startTime}
      target={hash}
      onLink={(next) => void navigate(next, { replace: true })}
      empty="The trial has written nothing yet."
    />
  );
}
