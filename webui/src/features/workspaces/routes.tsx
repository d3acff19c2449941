import { Navigate, type RouteObject } from "react-router";

const tab = (path: string, load: () => Promise<{ default: React.ComponentType }>): RouteObject => ({
  path,
  lazy: async () => ({ Component: (await load()).default }),
});

export const routes: RouteObject[] = [
  tab("workspaces", () => import("./WorkspacesPage")),
  {
    path: "workspaces/:workspaceId",
    lazy: async () => ({ Component: (await import("./WorkspacePage")).default }),
    children: [
      { index: true, element: <Navigate to="projects" replace /> },
      tab("projects", () => import("./tabs/ProjectsTab")),
      tab("tasks", () => import("./tabs/TasksTab")),
      tab("members", () => import("./tabs/MembersTab")),
      tab("models", () => import("./tabs/ModelsTab")),
      tab("pools", () => import("./tabs/PoolsTab")),
      tab("templates", () => import("./tabs/TemplatesTab")),
      tab("policies", () => import("./tabs/PoliciesTab")),
    ],
  },
];
