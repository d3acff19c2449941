import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { useNavigate } from "react-router";

import { keys } from "@/data/keys";
import { openTensorBoard, type Sources } from "@/data/tensorboards";
import { toast } from "@/ui/feedback/toast";

/** Opens the TensorBoard that already shows these, else starts one; then its page. */
export function useTensorBoard(): (sources: Sources, workspaceId: number | undefined) => Promise<boolean> {
  const navigate = useNavigate();
  const cache = useQueryClient();
  return useCallback(
    async (sources, workspaceId) => {
      try {
        const { id, isReused } = await openTensorBoard(sources, workspaceId);
        if (isReused) toast.info("This TensorBoard runs already");
        void cache.invalidateQueries({ queryKey: keys.tasks() });
        await navigate(`/wait/tensorboard/${id}`);
        return true;
      } catch (error) {
        toast.failed("TensorBoard", error);
        return false;
      }
    },
    [cache, navigate],
  );
}
