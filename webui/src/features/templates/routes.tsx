import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  {
    path: "templates",
    lazy: async () => ({ Component: (await import("./TemplatesPage")).default }),
  },
];
