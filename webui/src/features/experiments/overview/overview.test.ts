import { expect, it } from "vitest";

import type { Attempt } from "@/data/experiments/attempts";
import type { Experiment, Trial } from "@/data/experiments/queries";

import { badgeOf } from "./AttemptsCard";
import { trialFacts } from "./facts";

const EXPERIMENT: Experiment = { id: 23, name: "digits", resourcePool: "default", config: { entrypoint: "python3 t.py" } };
const TRIAL: Trial = { id: 36, state: "STATE_COMPLETED", startTime: "2026-01-01T00:00:00Z", endTime: "2026-01-01T00:01:00Z" };
const ENDED = { state: "TERMINATED", endedAt: "2026-01-01T00:00:00Z", failure: null, exitReason: "" };

const namesOf = (experiment: Experiment) => trialFacts(experiment, TRIAL, undefined).flatMap((fact) => (fact ? [fact[0]] : []));

it("a detached trial has neither pool nor entrypoint", () => {
  expect(namesOf(EXPERIMENT)).toContain("Entrypoint");
  expect(namesOf({ ...EXPERIMENT, unmanaged: true })).toEqual(["State", "Experiment", "User", "Started", "Ended", "Duration", "Restarts", "Runs"]);
});

it("an attempt that has ended says how", () => {
  const badge = (change: Partial<Attempt>) => badgeOf({ ...ENDED, ...change } as Attempt);
  expect(badge({})).toEqual({ state: "COMPLETED", label: "Completed" });
  expect(badge({ exitReason: "preempted" }).label).toBe("Ended");
  expect(badge({ failure: { text: "no", logPosition: 0, trialId: 1 } }).label).toBe("Failed");
  expect(badge({ endedAt: null, state: "RUNNING" })).toEqual({ state: "RUNNING" });
});
