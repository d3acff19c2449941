import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  {
    path: "webhooks",
    lazy: async () => ({ Component: (await import("./WebhooksPage")).default }),
  },
];
