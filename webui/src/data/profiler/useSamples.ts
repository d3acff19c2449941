/** The samples of a trial's machines, read again while it runs: the live channel does not send them. */
import { useQuery } from "@tanstack/react-query";

import { keys } from "@/data/keys";
import { readJson } from "@/data/logs/ndjson";

import { seriesOfBatches, type SampleBatch } from "./samples";

/** Agents report every ten seconds unless the training code asks for another interval. */
const LEAST_PAUSE_MS = 10_000;
/** A read that takes long is repeated less often. */
const PAUSE_PER_READ = 10;

export function useSamples(trialId: number, isFinished: boolean) {
  return useQuery({
    // The end of the run is another query: its last samples come with it.
    queryKey: [...keys.profiler(trialId), isFinished],
    queryFn: async ({ signal }) => {
      const began = performance.now();
      const path = `/api/v1/trials/${trialId}/profiler/metrics`;
      const messages = await readJson<{ batch?: SampleBatch }>(path, signal);
      const series = seriesOfBatches(messages.flatMap(({ batch }) => batch ?? []));
      return { series, tookMs: performance.now() - began };
    },
    placeholderData: (previous, query) => (query?.queryKey[1] === trialId ? previous : undefined),
    staleTime: isFinished ? Infinity : 0,
    refetchInterval: ({ state }) =>
      isFinished ? false : Math.max(LEAST_PAUSE_MS, PAUSE_PER_READ * (state.data?.tookMs ?? 0)),
  });
}
