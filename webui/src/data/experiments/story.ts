/** The journal of a thing as sentences of the master. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

export interface StoryItem {
  cursor: string;
  at: string;
  kind: string;
  subject: string;
  text: string;
  trialId: number;
  cause: string;
  level: "info" | "warning" | "error";
}

/** Why an attempt failed; `text` is the sentence, `logPosition` the line of the log, or 0. */
export interface Failure {
  text: string;
  logPosition: string | number;
  trialId: number;
}

export interface Story {
  items: StoryItem[];
  next: string;
  hasMore: boolean;
  reason: string;
  failure?: Failure | null;
}

const PAGE = 1000;
const MAX_ITEMS = 10_000;

/** `version` is another number after something that the story must tell at once. */
export function useStory(of: "experiments" | "trials" | "tasks", id: string, enabled = true, version = 0) {
  return useQuery({
    queryKey: ["story", of, id, version],
    placeholderData: keepPreviousData,
    queryFn: () => readStory(of, id),
    enabled,
    refetchInterval: 5000,
  });
}

async function readStory(of: string, id: string): Promise<Story> {
  const items: StoryItem[] = [];
  let after = "";
  for (;;) {
    const query = `limit=${PAGE}${after ? `&after=${encodeURIComponent(after)}` : ""}`;
    const page = await request<Story>(
      "GET",
      `/api/ui/v1/${of}/${encodeURIComponent(id)}/story?${query}`,
    );
    items.push(...page.items);
    after = page.next;
    if (!page.hasMore || items.length >= MAX_ITEMS) return { ...page, items };
  }
}
