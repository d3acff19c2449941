import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState, type ReactNode } from "react";
import { useNavigate } from "react-router";

import type { Draft } from "@/data/configs/draft";
import { idempotencyKeys, submitExperiment, validateExperiment, type Basis } from "@/data/experiments/submissions";
import type { Upload } from "@/data/experiments/uploads";
import { Checkbox } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { Notice } from "@/ui/layout/Notice";

import { ConfigDialog, type OtherStart, type Source } from "./ConfigDialog";
import type { Editing } from "./editing";

export interface NewExperimentProps extends Basis {
  title: string;
  description: ReactNode;
  action: string;
  /** The text that the form starts from, and the secrets that were left out of it. */
  start: { text: string; hidden?: readonly string[] };
  source?: Source;
  others?: OtherStart[];
  form(editing: Editing): ReactNode;
  /** Its own files, instead of those of the parent. */
  files?: readonly Upload[];
  /** Why the form cannot be submitted, for reasons outside of the text. */
  refusal?: string | undefined;
  onClose(): void;
}

/** Makes a new experiment of a source: another experiment, a template, files of one's own. */
export function NewExperiment({
  parentId = 0,
  template = "",
  start,
  files,
  refusal,
  source,
  others,
  ...dialog
}: NewExperimentProps) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const [isPaused, setPaused] = useState(false);
  const [keyOf] = useState(idempotencyKeys);
  const ask = useCallback(
    (draft: Draft, signal: AbortSignal) => validateExperiment(draft.text, { parentId, template }, signal),
    [parentId, template],
  );
  const submit = async ({ text }: Draft) => {
    const submission = { text, parentId, template, activate: !isPaused, ...(files ? { files } : {}) };
    const id = await submitExperiment(submission, keyOf(submission));
    return () => {
      toast.done(isPaused ? `Experiment ${id} is created, paused` : `Experiment ${id} is submitted`);
      void cache.invalidateQueries();
      void navigate(`/experiments/${id}`, { replace: true });
    };
  };
  return (
    <ConfigDialog
      {...dialog}
      {...(source ? { source } : {})}
      {...(others ? { others } : {})}
      notes={<HiddenNotice hidden={start.hidden ?? []} />}
      start={start.text}
      ask={ask}
      refusal={() => refusal}
      isDirty={(files?.length ?? 0) > 0}
      options={<Checkbox label="Create it paused" checked={isPaused} onValue={setPaused} />}
      onSubmit={submit}
    />
  );
}

function HiddenNotice({ hidden }: { hidden: readonly string[] }) {
  if (hidden.length === 0) return null;
  return <Notice>Secrets of the source are hidden and left out: {hidden.join(", ")}. Write them again where they are needed.</Notice>;
}
