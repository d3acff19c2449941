/** The master's record of an agent over time (`/api/ui/v1/agents/{id}/history`). */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";
import { ApiError } from "@/api/errors";

export type AgentState = "accepting" | "closed" | "resting" | "absent";

export interface AgentMoment {
  at: string;
  state: AgentState;
  slots: number;
  used: number;
}

export interface AgentHolding {
  allocationId: string;
  taskId: string;
  taskType: string;
  experimentId: number;
  trialId: number;
  slots: number;
  since: string;
  until: string | null;
  exitReason: string;
  exitError: string;
}

export interface AgentStay {
  resourcePool: string;
  slots: number;
  startedAt: string;
  endedAt: string | null;
}

export interface AgentHistory {
  resourcePool: string;
  since: string;
  until: string;
  recordedSince: string | null;
  stays: AgentStay[];
  moments: AgentMoment[];
  allocations: AgentHolding[];
}

const REFRESH_MS = 30_000;

/** `null` where the master has no such route. */
export function useAgentHistory(id: string, hours: number) {
  return useQuery({
    // Not below the key of the agents, which each change of an agent invalidates.
    queryKey: ["agent-history", id, hours],
    queryFn: async ({ signal }) => {
      try {
        return await request<AgentHistory>("GET", `/api/ui/v1/agents/${encodeURIComponent(id)}/history?hours=${hours}`, { signal });
      } catch (error) {
        if (error instanceof ApiError && [404, 405, 501].includes(error.status)) return null;
        throw error;
      }
    },
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
    staleTime: REFRESH_MS,
  });
}

export interface Segment {
  state: AgentState;
  /** Unix seconds. */
  from: number;
  to: number;
}

/** The states in their order, equal neighbours joined; each lasts until the next moment. */
export function segmentsOf({ moments, until }: Pick<AgentHistory, "moments" | "until">): Segment[] {
  const found: Segment[] = [];
  moments.forEach(({ at, state }, i) => {
    const from = seconds(at);
    const to = seconds(moments[i + 1]?.at ?? until);
    const last = found.at(-1);
    if (last?.state === state) last.to = to;
    else if (to > from) found.push({ state, from, to });
  });
  return found;
}

/** Seconds in each state, those that did not occur left out. */
export function timeIn(segments: readonly Segment[]): [AgentState, number][] {
  const sums = new Map<AgentState, number>();
  for (const { state, from, to } of segments) sums.set(state, (sums.get(state) ?? 0) + to - from);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

/** A line with steps: the value holds until it changes. */
export function stepsOf({ moments, until }: Pick<AgentHistory, "moments" | "until">, pick: (moment: AgentMoment) => number): { x: number[]; y: number[] } {
  const x: number[] = [];
  const y: number[] = [];
  const add = (at: number, value: number) => {
    x.push(at);
    y.push(value);
  };
  for (const moment of moments) {
    const last = y.at(-1);
    if (last !== undefined && last !== pick(moment)) add(seconds(moment.at), last);
    add(seconds(moment.at), pick(moment));
  }
  const last = y.at(-1);
  if (last !== undefined) add(seconds(until), last);
  return { x, y };
}

/** The share of enabled slot time that was in use; undefined where no slot was enabled. */
export function shareInUse({ moments, until }: Pick<AgentHistory, "moments" | "until">): number | undefined {
  let [used, enabled] = [0, 0];
  moments.forEach((moment, i) => {
    const length = seconds(moments[i + 1]?.at ?? until) - seconds(moment.at);
    used += length * moment.used;
    enabled += length * Math.max(moment.slots, moment.used);
  });
  return enabled > 0 ? used / enabled : undefined;
}

export interface Bar {
  holding: AgentHolding;
  lane: number;
  /** Shares of the whole time, 0 to 1. */
  left: number;
  width: number;
}

/** Allocations as bars on as few lanes as they fit without covering each other. */
export function barsOf(history: Pick<AgentHistory, "allocations" | "until">, from: number): { bars: Bar[]; lanes: number } {
  const end = seconds(history.until);
  const span = Math.max(1, end - from);
  const ends: number[] = [];
  const sorted = [...history.allocations].sort((a, b) => seconds(a.since) - seconds(b.since));
  const bars = sorted.map((holding) => {
    const begin = Math.max(from, seconds(holding.since));
    const until = Math.max(begin, holding.until ? seconds(holding.until) : end);
    const free = ends.findIndex((each) => each <= begin);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = until;
    return { holding, lane, left: (begin - from) / span, width: (until - begin) / span };
  });
  return { bars, lanes: ends.length };
}

export function seconds(iso: string): number {
  return Date.parse(iso) / 1000;
}
