/** Experiments and their trials, kept fresh by the live channel. */
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "../keys";
import { usePollInterval, useTopic, type Frame } from "../live";
import { POLL_MS } from "../queryClient";
import { isFinished } from "../states";

export type Experiment = Schemas["Experiment"];
export type Trial = Schemas["Trial"];

interface ExperimentFrame {
  experiment?: Experiment;
  trials?: Trial[];
}

export function experimentQuery(id: number) {
  return queryOptions({
    queryKey: keys.experiment(id),
    queryFn: async () => {
      const path = { experiment_id: id };
      const got = await answer(
        api.GET("/api/v1/experiments/{experiment_id}", { params: { path } }),
      );
      return { experiment: got.experiment ?? {} };
    },
  });
}

export function trialsQuery(experimentId: number) {
  return queryOptions({
    queryKey: keys.experimentTrials(experimentId),
    queryFn: async () => {
      const got = await answer(
        api.GET("/api/v1/experiments/{experiment_id}/trials", {
          params: { path: { experiment_id: experimentId }, query: { limit: -1 } },
        }),
      );
      return got.trials ?? [];
    },
  });
}

export function trialQuery(id: number) {
  return queryOptions({
    queryKey: keys.trial(id),
    queryFn: async () =>
      (await answer(api.GET("/api/v1/trials/{trial_id}", { params: { path: { trial_id: id } } })))
        .trial ?? {},
  });
}

export function useExperiment(id: number) {
  const cache = useQueryClient();
  const poll = usePollInterval(POLL_MS);
  const query = useQuery({
    ...experimentQuery(id),
    refetchInterval: (self) =>
      isFinished(self.state.data?.experiment.state) ? false : poll,
  });
  // Finished ones too: their older checkpoints are deleted after the end.
  useTopic(query.data ? `exp:${id}` : undefined, (frame: Frame) => {
    const data = (frame.data ?? {}) as ExperimentFrame;
    // A deletion or a refusal too is asked for again: the answer says what happened.
    if (frame.op === "reset" || !data.experiment) {
      void cache.invalidateQueries({ queryKey: keys.experiment(id) });
      return;
    }
    const hasEnded = isFinished(data.experiment.state) && !isFinished(query.data?.experiment.state);
    cache.setQueryData<typeof query.data>(
      keys.experiment(id),
      (old) => old && { ...old, experiment: { ...old.experiment, ...data.experiment } },
    );
    if (data.trials?.length || hasEnded)
      void cache.invalidateQueries({ queryKey: keys.experimentTrials(id) });
    if (hasEnded) void cache.invalidateQueries({ queryKey: keys.experiment(id) });
  });
  return query;
}

export function useTrials(experimentId: number, isDone: boolean) {
  const poll = usePollInterval(POLL_MS);
  return useQuery({ ...trialsQuery(experimentId), refetchInterval: isDone ? false : poll });
}

export function useTrial(id: number | undefined) {
  const cache = useQueryClient();
  const poll = usePollInterval(POLL_MS);
  const query = useQuery({
    ...trialQuery(id ?? 0),
    enabled: id !== undefined,
    refetchInterval: (self) => (isFinished(self.state.data?.state) ? false : poll),
  });
  useTopic(query.data ? `run:${id}` : undefined, (frame: Frame) => {
    const data = (frame.data ?? {}) as { trial?: Trial };
    if (data.trial && frame.op !== "reset")
      cache.setQueryData<Trial>(keys.trial(id ?? 0), (old) => ({ ...old, ...data.trial }));
    else void cache.invalidateQueries({ queryKey: keys.trial(id ?? 0), exact: true });
  });
  return query;
}
