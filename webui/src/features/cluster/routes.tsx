import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  {
    path: "clusters",
    lazy: async () => ({ Component: (await import("./ClusterPage")).default }),
  },
  {
    path: "clusters/health",
    lazy: async () => ({ Component: (await import("./HealthPage")).default }),
  },
  {
    path: "clusters/historical-usage",
    lazy: async () => ({ Component: (await import("./UsagePage")).default }),
  },
  {
    path: "clusters/logs",
    lazy: async () => ({ Component: (await import("./MasterLogPage")).default }),
  },
  {
    path: "agents/:agentId",
    lazy: async () => ({ Component: (await import("./AgentPage")).default }),
  },
];
