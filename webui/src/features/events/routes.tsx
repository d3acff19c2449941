import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  { path: "events", lazy: async () => ({ Component: (await import("./EventsPage")).default }) },
  { path: "events/administration", lazy: async () => ({ Component: (await import("./AdministrationPage")).default }) },
];
