import { Navigate, type RouteObject } from "react-router";

const tab = (path: string, load: () => Promise<{ default: React.ComponentType }>): RouteObject => ({
  path,
  lazy: async () => ({ Component: (await load()).default }),
});

export const routes: RouteObject[] = [
  tab("jobs", () => import("./JobsPage")),
  {
    path: "resourcepool/:poolName",
    lazy: async () => ({ Component: (await import("./PoolPage")).default }),
    children: [
      { index: true, element: <Navigate to="queue" replace /> },
      { path: "active", element: <Navigate to="../queue" replace /> },
      { path: "queued", element: <Navigate to="../queue" replace /> },
      { path: "bindings", element: <Navigate to="../configuration" replace /> },
      tab("queue", () => import("./QueueTab")),
      tab("agents", () => import("./AgentsTab")),
      tab("machines", () => import("./MachinesTab")),
      tab("stats", () => import("./StatsTab")),
      tab("what-if", () => import("./WhatIfTab")),
      tab("configuration", () => import("./ConfigurationTab")),
    ],
  },
];
