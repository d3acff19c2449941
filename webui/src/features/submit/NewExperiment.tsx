import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useState, type ReactNode } from "react";
import { useNavigate } from "react-router";

import type { Draft } from "@/data/configs/draft";
import { submittedStart, type Start } from "@/data/experiments/drafts";
import type { Experiment } from "@/data/experiments/queries";
import { idempotencyKeys, submitExperiment, validateExperiment } from "@/data/experiments/submissions";
import { Checkbox } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { Notice } from "@/ui/layout/Notice";

import { ConfigDialog, type OtherStart, type Source } from "./ConfigDialog";
import type { Editing } from "./editing";

/** Makes a new experiment of a source, with the source's files. */
export function NewExperiment({
  parent,
  title,
  description,
  action,
  start,
  source,
  form,
  withSubmitted,
  onClose,
}: {
  parent: Experiment;
  title: string;
  description: ReactNode;
  action: string;
  start: Start;
  source: Source;
  form(editing: Editing): ReactNode;
  /** The submitted text is offered as another start. */
  withSubmitted?: boolean;
  onClose(): void;
}) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const [isPaused, setPaused] = useState(false);
  const [keyOf] = useState(idempotencyKeys);
  const parentId = parent.id ?? 0;
  const ask = useCallback(
    (draft: Draft, signal: AbortSignal) => validateExperiment(draft.text, parentId, signal),
    [parentId],
  );
  const others = useMemo<OtherStart[]>(() => {
    const submitted = submittedStart(parent).text;
    if (!withSubmitted || !submitted.trim()) return [];
    return [
      { label: "the complete configuration", text: start.text },
      { label: "the submitted text", text: submitted },
    ];
  }, [parent, start.text, withSubmitted]);
  const submit = async ({ text }: Draft) => {
    const submission = { text, parentId, activate: !isPaused };
    const id = await submitExperiment(submission, keyOf(submission));
    return () => {
      toast.done(isPaused ? `Experiment ${id} is created, paused` : `Experiment ${id} is submitted`);
      void cache.invalidateQueries();
      void navigate(`/experiments/${id}`, { replace: true });
    };
  };
  return (
    <ConfigDialog
      title={title}
      description={description}
      notes={<HiddenNotice hidden={start.hidden} />}
      start={start.text}
      source={source}
      others={others}
      form={form}
      ask={ask}
      action={action}
      options={<Checkbox label="Create it paused" checked={isPaused} onValue={setPaused} />}
      onSubmit={submit}
      onClose={onClose}
    />
  );
}

function HiddenNotice({ hidden }: { hidden: readonly string[] }) {
  if (hidden.length === 0) return null;
  return <Notice>Secrets of the source are hidden and left out: {hidden.join(", ")}. Write them again where they are needed.</Notice>;
}
