import { expect, it } from "vitest";

import { matchingJobs, type JobFilter, type ListedJob } from "./jobs";

const ALL: JobFilter = { text: "", kind: "", state: "", pool: "", user: "" };

function job(id: string, changes: Partial<ListedJob>): ListedJob {
  return { id, kind: "experiment", name: "", state: "QUEUED", resourcePool: "default", userId: 1, ...changes } as ListedJob;
}

it("each filter narrows the jobs, and all of them together", () => {
  const jobs = [
    job("7", { name: "Long run", state: "SCHEDULED" }),
    job("8", { name: "waits", userId: 2 }),
    job("ab-1", { kind: "shell", resourcePool: "gpu" }),
  ];
  const ids = (filter: Partial<JobFilter>) => matchingJobs(jobs, { ...ALL, ...filter }).map(({ id }) => id);
  expect(ids({})).toEqual(["7", "8", "ab-1"]);
  expect(ids({ text: " long" })).toEqual(["7"]);
  expect(ids({ text: "ab" })).toEqual(["ab-1"]);
  expect(ids({ kind: "shell" })).toEqual(["ab-1"]);
  expect(ids({ state: "running" })).toEqual(["7"]);
  expect(ids({ state: "waiting" })).toEqual(["8", "ab-1"]);
  expect(ids({ pool: "gpu" })).toEqual(["ab-1"]);
  expect(ids({ user: "2" })).toEqual(["8"]);
  expect(ids({ user: "2", state: "running" })).toEqual([]);
});
