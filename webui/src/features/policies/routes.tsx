import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  {
    path: "policies",
    lazy: async () => ({ Component: (await import("./PoliciesPage")).default }),
  },
];
