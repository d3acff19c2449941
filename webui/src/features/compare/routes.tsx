import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  { path: "compare", lazy: async () => ({ Component: (await import("./ComparePage")).default }) },
];
