/** The journal of a thing as sentences of the master. */
import { useQuery } from "@tanstack/react-query";

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

export interface Story {
  items: StoryItem[];
  next: string;
  hasMore: boolean;
  reason: string;
}

const PAGE = 1000;
const MAX_ITEMS = 10_000;

export function useStory(of: "experiments" | "trials" | "tasks", id: string, enabled = true) {
  return useQuery({
    queryKey: ["story", of, id],
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
