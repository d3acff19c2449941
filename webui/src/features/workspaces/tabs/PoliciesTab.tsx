import { PolicyEditors } from "@/features/policies/PolicyEditors";

import { useWorkspaceContext } from "../WorkspacePage";

export default function PoliciesTab() {
  const { id, workspace } = useWorkspaceContext();
  return <PolicyEditors scope={id} workspace={workspace} />;
}
