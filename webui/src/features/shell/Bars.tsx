import { useQuery } from "@tanstack/react-query";

import { live, useLiveStatus } from "@/data/live";
import { useMaster } from "@/data/master";
import { useLocalNow } from "@/data/now";
import { queryClient } from "@/data/queryClient";
import { Button } from "@/ui/button/Button";
import { BASE_PATH } from "@/api/client";

import styles from "./Shell.module.css";

/** Thin bars above everything: the message of the cluster, and the state of the connection. */
export function Bars() {
  const { clusterMessage } = useMaster();
  return (
    <>
      {clusterMessage?.message && (
        <div className={styles.bar} data-kind="message" role="status">
          {clusterMessage.message}
        </div>
      )}
      <ConnectionBar />
    </>
  );
}

/** The master is asked directly while the channel is down: the channel alone may be blocked. */
function ConnectionBar() {
  const { mode, heardAt, retryAt } = useLiveStatus();
  const down = mode === "reconnecting" || mode === "polling";
  const now = useLocalNow(1000);
  const health = useQuery({
    queryKey: ["health"],
    queryFn: async () => (await fetch(`${BASE_PATH}/api/v1/master`)).ok,
    enabled: down,
    refetchInterval: down ? 3000 : false,
    retry: false,
  });
  if (!down || health.isPending) return null;
  const isAway = health.isError || health.data === false;
  // Where the channel is blocked for good, queries poll: that is no interruption.
  if (mode === "polling" && !isAway) return null;
  const age = heardAt ? Math.round((now - heardAt) / 1000) : undefined;
  const wait = Math.max(0, Math.ceil((retryAt - now) / 1000));
  return (
    <div className={styles.bar} data-kind={isAway ? "offline" : "live"} role="status">
      <span>
        {isAway ? "The master cannot be reached." : "Live updates are interrupted."}{" "}
        {age !== undefined && `The data is ${age} s old. `}
        {wait > 0 ? `Next attempt in ${wait} s.` : "Reconnecting …"}
      </span>
      <Button
        small
        onClick={() => {
          live.reconnect();
          void queryClient.invalidateQueries();
        }}
      >
        Try now
      </Button>
    </div>
  );
}
