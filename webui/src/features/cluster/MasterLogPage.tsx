import { useMemo } from "react";
import { useLocation, useNavigate } from "react-router";

import { masterLogs } from "@/data/logs/masterLogs";
import { useRights } from "@/data/permissions/permissions";
import { Empty } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";
import { LogViewer } from "@/ui/log/LogViewer";

import { clusterTabs } from "./clusterTabs";

/** `/clusters/logs` */
export default function MasterLogPage() {
  const source = useMemo(() => masterLogs(), []);
  const { may, isLoaded } = useRights();
  const { hash } = useLocation();
  const navigate = useNavigate();
  return (
    <Page name="Master log" crumbs={[{ label: "Cluster", to: "/clusters" }]} tabs={clusterTabs} flush>
      {isLoaded && !may("PERMISSION_TYPE_VIEW_MASTER_LOGS") ? (
        <Empty title="You may not see the log of the master">
          An administrator grants the permission to view master logs.
        </Empty>
      ) : (
        <LogViewer
          label="Log of the master"
          source={source}
          target={hash}
          onLink={(next) => void navigate(next, { replace: true })}
        />
      )}
    </Page>
  );
}
