import { chosenPool, usePoolChoices } from "@/data/cluster/poolChoices";
import { useQueueStats } from "@/data/cluster/queries";
import { textAt } from "@/data/configs/draft";
import type { Editing } from "@/features/submit/editing";
import { useWorkspaceId } from "@/features/submit/PlaceFields";
import { trialCount, useSearchPlan } from "@/features/submit/plan";

import { needWords } from "./newExperiment";

/** What the experiment would take, as soon as the master accepts its text. */
export function ExperimentNeeds({ editing }: { editing: Editing }) {
  const plan = useSearchPlan(editing);
  const pools = usePoolChoices(useWorkspaceId(editing)) ?? [];
  const stats = useQueueStats().data ?? [];
  if (!plan) return null;
  const pool = chosenPool(pools, textAt(editing.draft, ["resources", "resource_pool"]), 1);
  const waiting = stats.find((each) => each.resourcePool === pool?.name)?.stats?.queuedCount ?? 0;
  return <p role="status">{needWords(trialCount(plan), editing.draft, pool, waiting)}</p>;
}
