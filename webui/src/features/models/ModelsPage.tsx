import { Page } from "@/ui/layout/Page";

import { ModelsView } from "./ModelsView";

/** `/models`: all models that the user may see. */
export default function ModelsPage() {
  return (
    <Page name="Model registry">
      <ModelsView />
    </Page>
  );
}
