import { TemplatesView } from "@/features/templates/TemplatesView";

import { useWorkspaceContext } from "../WorkspacePage";

export default function TemplatesTab() {
  const { id } = useWorkspaceContext();
  return <TemplatesView workspaceId={id} />;
}
