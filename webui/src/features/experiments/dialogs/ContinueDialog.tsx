import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { messageOf } from "@/api/errors";
import { openDraft } from "@/data/configs/draft";
import { problemsOf, type Problem } from "@/data/configs/problems";
import { continuedRuns, continueRefusal, continueWord, overrideRefusal } from "@/data/experiments/continuing";
import { continueExperiment } from "@/data/experiments/submissions";
import { plural } from "@/data/format/numbers";
import { useUser } from "@/data/session";
import { Problems } from "@/features/submit/Problems";
import { Button } from "@/ui/button/Button";
import { YamlEditor } from "@/ui/editor/Editor";
import { toast } from "@/ui/feedback/toast";
import { Dialog } from "@/ui/overlay/Dialog";
import { useUnsavedDialog } from "@/ui/overlay/unsaved";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

/** Lets the experiment itself continue, with a few values changed where that is allowed. */
export default function ContinueDialog({ experiment, trials, onClose }: ExperimentDialogProps) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const user = useUser();
  const id = experiment.id ?? 0;
  const word = continueWord(experiment);
  const [text, setText] = useState("");
  const [refused, setRefused] = useState<Problem[]>([]);
  const [isBusy, setBusy] = useState(false);
  const { close, release } = useUnsavedDialog(text.trim() !== "", onClose);
  const draft = openDraft(text);
  const runs = continuedRuns(experiment, trials);
  const fixed = overrideRefusal(experiment, user.id);
  const problems: Problem[] = draft.error ? [{ ...draft.error, path: undefined }] : refused;
  const impossible = continueRefusal(experiment, trials);
  const refusal = isBusy
    ? "The master is asked."
    : (impossible ?? (draft.error && `Line ${draft.error.line} is not valid YAML.`));
  const submit = async () => {
    setBusy(true);
    setRefused([]);
    try {
      await continueExperiment(id, Object.keys(draft.value).length > 0 ? text : "");
      release();
      toast.done(`Experiment ${id} continues`);
      void cache.invalidateQueries();
      void navigate(`/experiments/${id}`, { replace: true });
    } catch (error) {
      setRefused(problemsOf(messageOf(error), draft));
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      width={fixed ? 520 : 720}
      onClose={close}
      title={`${word} experiment ${id}`}
      footer={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button look="primary" disabledReason={refusal} onClick={() => void submit()}>
            {word}
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>
          {impossible ??
            (runs === 1
              ? "Its trial starts again from its last checkpoint, in the same experiment."
              : `${plural(runs, "trial")} start again from their last checkpoints, in the same experiment.`)}
        </p>
        {fixed ? (
          <p className="muted">{fixed}</p>
        ) : (
          <>
            <p className="muted">
              Only what changes, for example <code>max_restarts: 10</code> or{" "}
              <code>{"searcher: {max_length: {epochs: 20}}"}</code>. Everything else stays as it is.
            </p>
            <YamlEditor
              label="Values that change (YAML)"
              height={220}
              value={text}
              onValue={(next) => {
                setText(next);
                setRefused([]);
              }}
              markers={problems.flatMap(({ line, message }) => (line === undefined ? [] : [{ line, message }]))}
            />
          </>
        )}
        <Problems problems={fixed ? problems : problems.filter((each) => each.line === undefined)} />
      </div>
    </Dialog>
  );
}
