import { Page } from "@/ui/layout/Page";

import { TemplatesView } from "./TemplatesView";

/** `/templates`: all templates that the user may see. */
export default function TemplatesPage() {
  return (
    <Page name="Templates">
      <TemplatesView />
    </Page>
  );
}
