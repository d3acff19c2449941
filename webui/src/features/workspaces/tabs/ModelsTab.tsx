import { ModelsView } from "@/features/models/ModelsView";

import { useWorkspaceContext } from "../WorkspacePage";

export default function ModelsTab() {
  const { id } = useWorkspaceContext();
  return <ModelsView workspaceId={id} />;
}
