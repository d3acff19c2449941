/** Events of the cluster: who did what to which thing, from the master's journal (`docs/ui-api.md`). */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

export type Level = "info" | "warning" | "error";

export interface EventThing {
  /** `experiment`, `trial`, `command`, `notebook`, `shell`, `tensorboard`, `generic`, `checkpoint_gc`. */
  kind: string;
  id: string;
  name: string;
  experimentId: number;
  trialId: number;
  workspaceId: number;
}

export interface ClusterEvent {
  cursor: string;
  at: string;
  kind: string;
  text: string;
  level: Level;
  /** 0 where the master itself acted. */
  userId: number;
  username: string;
  thing: EventThing;
}

/** What the master narrows the list by. */
export interface EventFilter {
  /** A kind of aggregates; empty for all. */
  kind: string;
  userId: number;
  /** Only what people asked for. */
  actsOnly: boolean;
  /** An instant; empty for all that is kept. */
  since: string;
}

export interface EventPage {
  events: ClusterEvent[];
  next: string;
  hasMore: boolean;
  /** How far back the master has looked. */
  searchedTo: string;
}

const PAGE = 500;
const HEAD = 100;
const HEAD_POLL_MS = 10_000;

export const eventsKey = ["events"] as const;

/** Pages of events, the newest first. */
export function useEvents(filter: EventFilter) {
  return useInfiniteQuery({
    queryKey: [...eventsKey, "list", filter],
    queryFn: ({ pageParam, signal }) => readEvents(filter, pageParam, PAGE, signal),
    initialPageParam: "",
    getNextPageParam: (page) => (page.hasMore ? page.next : undefined),
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
}

/** How many events came after the newest of the list; at most `HEAD`. */
export function useNewEvents(filter: EventFilter, newest: string | undefined, isLoaded: boolean): { count: number; isMore: boolean } {
  const { data } = useQuery({
    queryKey: [...eventsKey, "head", filter],
    queryFn: ({ signal }) => readEvents(filter, "", HEAD, signal),
    enabled: isLoaded,
    refetchInterval: HEAD_POLL_MS,
  });
  if (!data || !isLoaded) return { count: 0, isMore: false };
  const at = newest === undefined ? -1 : data.events.findIndex((each) => each.cursor === newest);
  if (at >= 0) return { count: at, isMore: false };
  // A head that was read before the list has nothing new.
  return { count: newest && !data.hasMore ? 0 : data.events.length, isMore: data.hasMore };
}

export function readEvents(filter: EventFilter, before: string, limit: number, signal?: AbortSignal): Promise<EventPage> {
  const query = new URLSearchParams({ limit: String(limit) });
  if (filter.kind) query.set("kinds", filter.kind);
  if (filter.userId) query.set("userId", String(filter.userId));
  if (filter.actsOnly) query.set("actsOnly", "true");
  if (filter.since) query.set("since", filter.since);
  if (before) query.set("before", before);
  return request<EventPage>("GET", `/api/ui/v1/events?${query.toString()}`, signal ? { signal } : {});
}

const MAX_EXPORTED = 10_000;

/** Events for a file: all that match, at most 10,000. */
export async function readAllEvents(filter: EventFilter): Promise<{ events: ClusterEvent[]; isCut: boolean }> {
  const events: ClusterEvent[] = [];
  let before = "";
  for (;;) {
    const page = await readEvents(filter, before, 1000);
    events.push(...page.events);
    before = page.next;
    if (!page.hasMore) return { events, isCut: false };
    if (events.length >= MAX_EXPORTED) return { events: events.slice(0, MAX_EXPORTED), isCut: true };
  }
}
