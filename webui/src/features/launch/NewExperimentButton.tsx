import { useRights } from "@/data/permissions/permissions";
import { Button } from "@/ui/button/Button";

import { useLaunch } from "./useLaunch";

/** Opens the dialog of a new experiment; absent where the user may create none. */
export function NewExperimentButton({ projectId, workspaceId, look }: { projectId?: number; workspaceId?: number; look?: "primary" }) {
  const launch = useLaunch();
  const { may, mayAnywhere } = useRights();
  const permission = "PERMISSION_TYPE_CREATE_EXPERIMENT";
  if (!(workspaceId ? may(permission, workspaceId) : mayAnywhere(permission))) return null;
  return (
    <Button icon="plus" {...(look ? { look } : {})} onClick={() => launch("experiment", projectId ? { project: String(projectId) } : {})}>
      New experiment
    </Button>
  );
}
