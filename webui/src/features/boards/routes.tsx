import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  { path: "boards", lazy: async () => ({ Component: (await import("./BoardsPage")).default }) },
  { path: "boards/:id", lazy: async () => ({ Component: (await import("./BoardPage")).default }) },
];
