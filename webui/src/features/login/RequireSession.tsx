import { Navigate, Outlet, useLocation } from "react-router";

import { useSession } from "@/data/session";
import { Button } from "@/ui/button/Button";
import { Empty, Loading } from "@/ui/feedback/Feedback";

/** Pages behind the sign-in; the wanted address is kept. */
export function RequireSession() {
  const { status, retry } = useSession();
  const { pathname, search, hash } = useLocation();
  if (status === "signed-in" || status === "expired") return <Outlet />;
  if (status === "loading") return <Loading what="the session" rows={1} />;
  if (status === "unreachable")
    return (
      <main>
        <h1 className="visually-hidden">Determined</h1>
        <Empty
          title="The master cannot be reached"
          action={
            <Button look="primary" onClick={retry}>
              Retry
            </Button>
          }
        >
          The page is here, but its master does not answer. Check that it runs and that this browser
          may reach it.
        </Empty>
      </main>
    );
  const redirect = encodeURIComponent(`/det${pathname}${search}${hash}`);
  return <Navigate to={`/login?redirect=${redirect}`} replace />;
}
