/** A text that the master checks while a person types. */
import { useEffect, useState } from "react";

import { ApiError, messageOf } from "@/api/errors";

import type { Draft } from "./draft";
import { problemsOf, type Problem } from "./problems";

/** `unknown`: the master could not be asked; what it would say is not known. */
export type CheckState = "checking" | "valid" | "refused" | "unknown";

export interface Check {
  state: CheckState;
  problems: readonly Problem[];
  warnings: readonly string[];
  /** Why the master could not be asked. */
  reason: string;
}

/** What the master answered about a text that it accepts. */
export interface Accepted {
  warnings: string[];
}

const PAUSE_MS = 400;
const CHECKING: Check = { state: "checking", problems: [], warnings: [], reason: "" };
const NOT_ABOUT_THE_TEXT = new Set([0, 401, 429, 502, 503, 504]);

/**
 * Asks the master after each pause in typing; the last text wins.
 *
 * An error of the syntax is shown at once, without asking. `ask` must keep its identity while what
 * it sends besides the text stays the same.
 */
export function useCheck(draft: Draft, ask: (draft: Draft, signal: AbortSignal) => Promise<Accepted>): Check {
  const [check, setCheck] = useState<Check>(CHECKING);
  useEffect(() => {
    if (draft.error) {
      setCheck({ state: "refused", problems: [{ ...draft.error, path: undefined }], warnings: [], reason: "" });
      return;
    }
    // Problems stay in sight until the next answer; only their certainty is gone.
    setCheck((old) => ({ ...old, state: "checking" }));
    const stop = new AbortController();
    const timer = setTimeout(() => {
      ask(draft, stop.signal)
        .then((accepted) => setCheck({ state: "valid", problems: [], warnings: accepted.warnings, reason: "" }))
        .catch((error: unknown) => {
          if (!stop.signal.aborted) setCheck(refusalOf(error, draft));
        });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [ask, draft]);
  return check;
}

/** The answer to a text as problems of that text. */
export function refusalOf(error: unknown, draft: Draft): Check {
  const message = messageOf(error);
  if (!(error instanceof ApiError) || NOT_ABOUT_THE_TEXT.has(error.status))
    return { state: "unknown", problems: [], warnings: [], reason: message };
  return { state: "refused", problems: problemsOf(message, draft), warnings: [], reason: "" };
}

/** Why the text cannot be submitted now. */
export function submitRefusal(draft: Draft, check: Check): string | undefined {
  if (draft.error) return `Line ${draft.error.line} is not valid YAML.`;
  if (check.state !== "refused") return undefined;
  const count = check.problems.length;
  return count === 1 ? "The master refuses the configuration: see the problem." : `The master refuses the configuration: see the ${count} problems.`;
}
