import { Outlet } from "react-router";

import { useRights, type Permission } from "@/data/permissions/permissions";
import { Loading } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";
import { MissingPage } from "@/ui/layout/PageQuery";

const TABS: { label: string; path: string; needs: Permission }[] = [
  { label: "Users", path: "user-management", needs: "PERMISSION_TYPE_ADMINISTRATE_USER" },
  { label: "Groups", path: "group-management", needs: "PERMISSION_TYPE_UPDATE_GROUP" },
  { label: "Access tokens", path: "tokens", needs: "PERMISSION_TYPE_VIEW_OTHER_TOKEN" },
  { label: "Cluster message", path: "cluster-message", needs: "PERMISSION_TYPE_UPDATE_MASTER_CONFIG" },
  { label: "Master configuration", path: "master-config", needs: "PERMISSION_TYPE_VIEW_MASTER_CONFIG" },
];

/** `/admin/:tab`: a tab is there for those who may use it. */
export default function AdminPage() {
  const { isLoaded, mayAnywhere } = useRights();
  const tabs = TABS.filter((each) => mayAnywhere(each.needs));
  if (!isLoaded && tabs.length === 0)
    return (
      <Page name="Administration">
        <Loading what="the permissions" />
      </Page>
    );
  if (tabs.length === 0) return <MissingPage what="page" />;
  return (
    <Page name="Administration" tabs={tabs.map(({ label, path }) => ({ label, to: `/admin/${path}` }))}>
      <Outlet />
    </Page>
  );
}
