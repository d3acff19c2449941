import { Navigate } from "react-router";

import { useWorkspaceContext } from "../WorkspacePage";

/** The list of tasks has a filter for the workspace. */
export default function TasksTab() {
  const { id } = useWorkspaceContext();
  return <Navigate to={`/tasks?workspace=${id}`} replace />;
}
