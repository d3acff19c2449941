import { useRouteError } from "react-router";

import { Button } from "@/ui/button/Button";
import { ErrorNotice } from "@/ui/feedback/Feedback";

/** A defect of a page: the rest of the UI stays usable. */
export function RouteError() {
  const error = useRouteError();
  return (
    <div style={{ padding: 24 }} className="stack">
      <h1>This page failed</h1>
      <ErrorNotice error={error} />
      <div className="row">
        <Button onClick={() => location.reload()}>Reload</Button>
      </div>
    </div>
  );
}
