import { useLocation, useNavigate } from "react-router";

import { Empty } from "@/ui/feedback/Feedback";
import { LogViewer } from "@/ui/log/LogViewer";

import { useExperimentContext } from "../context";
import { useTrialLog } from "../useTrialLog";

/** The log of a run; `#L812` names a line. */
export default function LogsTab() {
  const { trial } = useExperimentContext();
  const { hash } = useLocation();
  const navigate = useNavigate();
  const source = useTrialLog(trial);
  if (!source)
    return <Empty title="No log yet">The log starts when the trial gets its slots.</Empty>;
  return (
    <LogViewer
      label={`Log of trial ${trial?.id}`}
      source={source}
      startTime={trial?.startTime}
      target={hash}
      onLink={(next) => void navigate(next, { replace: true })}
      empty="The trial has written nothing yet."
    />
  );
}
