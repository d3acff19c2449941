/** TensorBoards: one that shows the same things is used again. */
import { answer, api, type Schemas } from "@/api/client";

import { isFinished } from "./states";

type Tensorboard = Schemas["Tensorboard"];

export interface Sources {
  experimentIds: readonly number[];
  trialIds: readonly number[];
}

export interface Opened {
  id: string;
  /** It ran already. */
  isReused: boolean;
}

/** Opens the TensorBoard of these sources, or starts one in the workspace. */
export async function openTensorBoard(sources: Sources, workspaceId: number | undefined): Promise<Opened> {
  const { tensorboards } = await answer(api.GET("/api/v1/tensorboards", { params: { query: { limit: 10_000 } } }));
  const same = sameSources(tensorboards ?? [], sources);
  if (same?.id) return { id: same.id, isReused: true };
  const made = await answer(
    api.POST("/api/v1/tensorboards", {
      body: {
        experimentIds: [...sources.experimentIds],
        trialIds: [...sources.trialIds],
        ...(workspaceId ? { workspaceId } : {}),
      },
    }),
  );
  return { id: made.tensorboard?.id ?? "", isReused: false };
}

/** One that still runs and shows exactly these, in any order; the newest of several. */
export function sameSources(tensorboards: readonly Tensorboard[], sources: Sources): Tensorboard | undefined {
  return tensorboards
    .filter(
      (each) =>
        !isFinished(each.state) &&
        !each.state?.includes("TERMINATING") &&
        isSame(each.experimentIds, sources.experimentIds) &&
        isSame(each.trialIds, sources.trialIds),
    )
    .sort((a, b) => (b.startTime ?? "").localeCompare(a.startTime ?? ""))[0];
}

function isSame(a: readonly number[] | undefined, b: readonly number[]): boolean {
  const [left, right] = [new Set(a ?? []), new Set(b)];
  return left.size === right.size && [...left].every((id) => right.has(id));
}

/** Ids that a person typed, separated by commas or spaces; `wrong` is what is no id. */
export function idsIn(text: string): { ids: number[]; wrong: string[] } {
  const words = text.split(/[\s,;#]+/).filter(Boolean);
  const isId = (word: string) => /^\d{1,9}$/.test(word) && Number(word) > 0;
  return {
    ids: [...new Set(words.filter(isId).map(Number))],
    wrong: words.filter((word) => !isId(word)),
  };
}
