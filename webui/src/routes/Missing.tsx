import { useLocation } from "react-router";

import { ButtonLink } from "@/ui/button/ButtonLink";
import { Empty } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";

export function Missing() {
  const { pathname } = useLocation();
  return (
    <Page name="Not found">
      <Empty title="There is no such page" action={<ButtonLink to="/dashboard">Home</ButtonLink>}>
        Nothing is at {pathname}. The palette (Ctrl K) finds pages and trials by name.
      </Empty>
    </Page>
  );
}
