/** Frames of the topic `me`: the user's own things changed, or the user's rights. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import type { Frame } from "@/data/live";

export function useMeFrames() {
  const cache = useQueryClient();
  return useCallback(
    (frame: Frame) => {
      const data = (frame.data ?? {}) as { event?: string };
      if (data.event === "permissions") {
        // Things on the page may be hidden now, and hidden things may be visible.
        void cache.invalidateQueries();
      } else void cache.invalidateQueries({ queryKey: ["home"] });
    },
    [cache],
  );
}
