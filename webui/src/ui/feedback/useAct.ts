/** Acts of a person on the master: a toast for the result, then fresh data. */
import { useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useCallback } from "react";

import { toast } from "./toast";

interface Outcome {
  /** The words of the toast when the act is done. */
  done: string;
  /** The words before the reason when the master refuses it. */
  failed: string;
  /** The inverse of the act, if it has one. */
  undo?: () => Promise<unknown>;
  /** Prefixes of the cache that the act made old; all of it by default. */
  keys?: QueryKey[];
}

/** Resolves to true when the act is done. */
export function useAct() {
  const cache = useQueryClient();
  return useCallback(
    async (act: () => Promise<unknown>, outcome: Outcome): Promise<boolean> => {
      const renew = () =>
        outcome.keys
          ? Promise.all(outcome.keys.map((queryKey) => cache.invalidateQueries({ queryKey })))
          : cache.invalidateQueries();
      const { undo } = outcome;
      const revert = async () => {
        try {
          await undo?.();
        } catch (error) {
          toast.failed("It cannot be undone", error);
        }
        await renew();
      };
      try {
        await act();
        toast.done(outcome.done, undo && (() => void revert()));
        return true;
      } catch (error) {
        toast.failed(outcome.failed, error);
        return false;
      } finally {
        await renew();
      }
    },
    [cache],
  );
}
