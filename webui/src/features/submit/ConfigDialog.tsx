import { useMemo, useState, type ReactNode } from "react";

import { refusalOf, submitRefusal, useCheck, type Accepted, type Check } from "@/data/configs/checked";
import type { Draft } from "@/data/configs/draft";
import { Button } from "@/ui/button/Button";
import { Segments } from "@/ui/field/Field";
import { Notice } from "@/ui/layout/Notice";
import { Dialog } from "@/ui/overlay/Dialog";
import { useUnsavedDialog } from "@/ui/overlay/unsaved";

import { ChangesTab } from "./ChangesTab";
import { CheckStatus } from "./CheckStatus";
import { useDraft, type Editing } from "./editing";
import { Warnings } from "./Problems";
import styles from "./Submit.module.css";
import { YamlTab } from "./YamlTab";

type Tab = "form" | "yaml" | "changes" | "complete";

export interface Source {
  /** The text that the changes are compared with. */
  label: string;
  text: string;
}

/** Another text to start from, offered in the editor. */
export interface OtherStart {
  label: string;
  text: string;
}

/**
 * A configuration as a form and as YAML, checked by the master while one types.
 *
 * The YAML is the only state: both tabs show it, and a text that is no valid YAML stays as it is.
 */
export function ConfigDialog({
  title,
  description,
  notes,
  start,
  source,
  others,
  form,
  complete,
  ask,
  refusal,
  action,
  options,
  isShort,
  isDirty = false,
  onSubmit,
  onClose,
}: {
  title: string;
  description?: ReactNode;
  /** Facts to know before submitting. */
  notes?: ReactNode;
  start: string;
  source?: Source;
  others?: OtherStart[];
  form(editing: Editing): ReactNode;
  /** The configuration as the master completes it. */
  complete?: string | undefined;
  /** Must keep its identity while what it sends besides the text stays the same. */
  ask(draft: Draft, signal: AbortSignal): Promise<Accepted>;
  /** Why the form cannot be submitted, for reasons outside of the text. */
  refusal?(draft: Draft): string | undefined;
  action: string;
  /** Choices beside the buttons. */
  options?: ReactNode;
  /** The form has few fields. */
  isShort?: boolean;
  /** Choices beside the text would be lost. */
  isDirty?: boolean;
  /** Throws the refusal; what it returns moves on, after the master took the text. */
  onSubmit(draft: Draft): Promise<() => void>;
  onClose(): void;
}) {
  const { draft, setText, edit } = useDraft(start);
  const [tab, setTab] = useState<Tab>("form");
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<{ draft: Draft; check: Check }>();
  const typed = useCheck(draft, ask);
  const check = refused?.draft === draft ? refused.check : typed;
  const { close, release } = useUnsavedDialog(isDirty || draft.text !== start, onClose);
  const editing = useMemo<Editing>(() => ({ draft, problems: check.problems, ...edit }), [draft, check.problems, edit]);
  const submit = async () => {
    setBusy(true);
    setRefused(undefined);
    try {
      const moveOn = await onSubmit(draft);
      release();
      moveOn();
    } catch (error) {
      setRefused({ draft, check: refusalOf(error, draft) });
      setBusy(false);
    }
  };
  const reason = isBusy ? "The master is asked." : (submitRefusal(draft, check) ?? refusal?.(draft));
  return (
    <Dialog
      open
      width={isShort ? 720 : 960}
      onClose={close}
      title={title}
      description={description}
      footer={
        <>
          <div className={styles.start}>
            {options}
            <CheckStatus check={check} />
          </div>
          <Button onClick={close}>Cancel</Button>
          <Button look="primary" disabledReason={reason} onClick={() => void submit()}>
            {action}
          </Button>
        </>
      }
    >
      <div className={styles.tabs}>
        <Segments
          label="View of the configuration"
          value={tab}
          onValue={setTab}
          options={[
            { value: "form", label: "Form" },
            { value: "yaml", label: "YAML" },
            ...(source ? [{ value: "changes" as const, label: "Changes" }] : []),
            ...(complete === undefined ? [] : [{ value: "complete" as const, label: "Complete" }]),
          ]}
        />
      </div>
      <div className={styles.panel} data-short={isShort}>
        {notes}
        {tab === "form" &&
          (draft.error ? (
            <>
              <Notice>
                The form needs valid YAML. Line {draft.error.line}: {draft.error.message}
              </Notice>
              <div>
                <Button icon="code" onClick={() => setTab("yaml")}>
                  Show the YAML
                </Button>
              </div>
            </>
          ) : (
            <>
              {form(editing)}
              <Warnings check={check} />
            </>
          ))}
        {tab === "yaml" && <YamlTab draft={draft} check={check} start={start} others={others ?? []} onText={setText} />}
        {tab === "changes" && source && <ChangesTab draft={draft} source={source} />}
        {tab === "complete" && <YamlTab draft={draft} check={check} readOnly={complete ?? ""} start={start} others={[]} onText={setText} />}
      </div>
    </Dialog>
  );
}
