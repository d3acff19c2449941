/** Runs with their experiments, for comparisons. */
import { useQueries, useQuery, type QueryClient } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "../keys";
import type { GroupFilter } from "../query/compile";
import type { Experiment, Trial } from "./queries";

export interface ComparedRun {
  trial: Trial;
  experiment: Experiment;
}

/**
 * The runs in the order of their ids; `error` is the first refusal.
 *
 * `brief` reads what charts need, in one request: no configuration, no number of batches.
 */
export function useComparedRuns(ids: readonly number[], { brief = false } = {}) {
  const listed = useQuery({
    queryKey: ["runs", "compared", ids],
    queryFn: ({ client }) => readBrief(client, ids),
    enabled: brief && ids.length > 0,
    staleTime: 30_000,
  });
  const whole = useQueries({
    queries: (brief ? [] : ids).map((id) => ({
      queryKey: [...keys.trial(id), "compared"],
      queryFn: ({ client }: { client: QueryClient }) => readRun(client, id),
      staleTime: 30_000,
    })),
    combine: (results) => ({
      runs: results.flatMap((each) => each.data ?? []),
      isPending: results.some((each) => each.isPending),
      error: results.find((each) => each.error)?.error ?? undefined,
    }),
  });
  if (!brief) return whole;
  return { runs: listed.data ?? NONE, isPending: listed.isLoading, error: listed.error ?? undefined };
}

/** The runs of some experiments, in their order. */
export function useRunsOf(experimentIds: readonly number[]) {
  return useQueries({
    queries: experimentIds.map((id) => ({
      queryKey: [...keys.experimentTrials(id), "ids"],
      queryFn: async () => {
        const params = { path: { experiment_id: id }, query: { limit: -1 } };
        const { trials = [] } = await answer(api.GET("/api/v1/experiments/{experiment_id}/trials", { params }));
        return trials.flatMap((each) => each.id ?? []).sort((a, b) => a - b);
      },
      staleTime: 30_000,
    })),
    combine: (results) => ({
      ids: results.flatMap((each) => each.data ?? []),
      isPending: results.some((each) => each.isPending),
      error: results.find((each) => each.error)?.error ?? undefined,
    }),
  });
}

const NONE: ComparedRun[] = [];

async function readRun(cache: QueryClient, id: number): Promise<ComparedRun> {
  const { trial = {} } = await answer(
    api.GET("/api/v1/trials/{trial_id}", { params: { path: { trial_id: id } } }),
  );
  const path = { experiment_id: trial.experimentId ?? 0 };
  // Runs of one search share their experiment.
  const { experiment = {} } = await cache.fetchQuery({
    queryKey: [...keys.experiment(path.experiment_id), "compared"],
    queryFn: () => answer(api.GET("/api/v1/experiments/{experiment_id}", { params: { path } })),
    staleTime: 30_000,
  });
  return { trial, experiment };
}

async function readBrief(cache: QueryClient, ids: readonly number[]): Promise<ComparedRun[]> {
  const children = ids.map((value): GroupFilter["children"][number] => ({
    kind: "field",
    columnName: "id",
    location: "LOCATION_TYPE_RUN",
    operator: "=",
    type: "COLUMN_TYPE_NUMBER",
    value,
  }));
  const filter = { showArchived: true, filterGroup: { kind: "group", conjunction: "or", children } };
  const body = { filter: JSON.stringify(filter), limit: ids.length };
  const { runs = [] } = await answer(api.POST("/api/v1/runs", { body }));
  const byId = new Map(runs.map((run) => [run.id, briefly(run)]));
  // A run that the list lacks is asked for by itself: its refusal says why.
  return Promise.all(ids.map((id) => byId.get(id) ?? readRun(cache, id)));
}

/** A row of the list in the shape of a run. */
export function briefly(run: Schemas["FlatRun"]): ComparedRun {
  const { id, state, startTime, endTime, hyperparameters, summaryMetrics, experiment = {} } = run;
  return {
    trial: {
      id,
      experimentId: experiment.id,
      state,
      startTime,
      endTime,
      hparams: hyperparameters,
      summaryMetrics,
    } as Trial,
    experiment: {
      id: experiment.id,
      name: experiment.name,
      searcherMetric: experiment.searcherMetric,
      projectId: run.projectId,
    } as Experiment,
  };
}
