import { Navigate, type RouteObject } from "react-router";

const page = (path: string, load: () => Promise<{ default: React.ComponentType }>): RouteObject => ({
  path,
  lazy: async () => ({ Component: (await load()).default }),
});

export const routes: RouteObject[] = [
  {
    path: "admin",
    lazy: async () => ({ Component: (await import("./AdminPage")).default }),
    children: [
      { index: true, element: <Navigate to="user-management" replace /> },
      page("user-management", () => import("./users/UsersTab")),
      page("group-management", () => import("./groups/GroupsTab")),
      page("tokens", () => import("./tokens/TokensTab")),
      page("cluster-message", () => import("./message/MessageTab")),
      page("master-config", () => import("./config/ConfigTab")),
    ],
  },
];
