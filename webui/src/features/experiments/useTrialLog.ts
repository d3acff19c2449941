import { useMemo, useState } from "react";

import { serverNow } from "@/api/clock";
import type { Trial } from "@/data/experiments/queries";
import { trialLogs } from "@/data/logs/taskLogs";
import type { LogSource } from "@/data/logs/types";
import { isFinished } from "@/data/states";

/** The last lines of a trial may be on their way for so long after its end. */
const LATE_MS = 15_000;

/** The log of a trial. One that ends while it is watched is followed to its last line. */
export function useTrialLog(trial: Trial | undefined): LogSource | undefined {
  const id = trial?.id;
  const task = trial?.taskId;
  const [watched, setWatched] = useState<number>();
  const isEnded = isFinished(trial?.state) && Date.parse(trial?.endTime ?? "") < serverNow() - LATE_MS;
  const follows = !isEnded || watched === id;
  if (!isEnded && watched !== id) setWatched(id);
  return useMemo(
    () => (id === undefined ? undefined : trialLogs(id, task, { ended: !follows })),
    [id, task, follows],
  );
}
