/** Whether a task serves its page: its container runs, and the program in it answers. */
import { useQuery } from "@tanstack/react-query";

import { answer, api } from "@/api/client";

import { keys } from "./keys";

const LOOK_MS = 1000;

export function useTaskReady(id: string, enabled: boolean): boolean {
  const ready = useQuery({
    queryKey: [...keys.task(id), "ready"],
    queryFn: async () => {
      const got = await answer(api.GET("/api/v1/tasks/{task_id}", { params: { path: { task_id: id } } }));
      return (got.task?.allocations ?? []).some((each) => each.isReady && !each.endTime);
    },
    enabled,
    refetchInterval: (self) => (self.state.data ? false : LOOK_MS),
  });
  return ready.data === true;
}
