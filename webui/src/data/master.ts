/** Facts about the master: version, cluster name, RBAC, message to users. */
import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "./keys";

export type MasterInfo = Schemas["GetMasterResponse"];

export function useMaster(): MasterInfo {
  const query = useQuery({
    queryKey: keys.master(),
    queryFn: () => answer(api.GET("/api/v1/master", {})),
    staleTime: 30_000,
    refetchInterval: 60_000,
  });
  return query.data ?? {};
}
