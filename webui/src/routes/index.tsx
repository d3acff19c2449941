/** All addresses below `/det`. A feature declares its own in `features/NAME/routes.tsx`. */
import { createBrowserRouter, Navigate, type RouteObject } from "react-router";

import { BASE_PATH } from "@/api/client";
import { routes as admin } from "@/features/admin/routes";
import { routes as boards } from "@/features/boards/routes";
import { routes as cluster } from "@/features/cluster/routes";
import { routes as compare } from "@/features/compare/routes";
import { routes as events } from "@/features/events/routes";
import { routes as experiments } from "@/features/experiments/routes";
import { routes as home } from "@/features/home/routes";
import { RequireSession } from "@/features/login/RequireSession";
import { routes as models } from "@/features/models/routes";
import { routes as policies } from "@/features/policies/routes";
import { routes as projects } from "@/features/projects/routes";
import { routes as queue } from "@/features/queue/routes";
import { routes as runs } from "@/features/runs/routes";
import { routes as settings } from "@/features/settings/routes";
import { routes as tasks } from "@/features/tasks/routes";
import { routes as templates } from "@/features/templates/routes";
import { routes as webhooks } from "@/features/webhooks/routes";
import { routes as workspaces } from "@/features/workspaces/routes";
import { later } from "@/ui/later";

import { legacy } from "./legacy";
import { Missing } from "./Missing";
import { Opening } from "./Opening";
import { RouteError } from "./RouteError";

/** Not needed for the sign-in. It loads beside the page, which it does not wait for. */
const Shell = later(async () => ({ default: (await import("@/features/shell/Shell")).Shell }));

const behindSignIn: RouteObject[] = [
  ...home,
  ...runs,
  ...experiments,
  ...compare,
  ...tasks,
  ...cluster,
  ...queue,
  ...workspaces,
  ...projects,
  ...boards,
  ...events,
  ...models,
  ...admin,
  ...webhooks,
  ...templates,
  ...policies,
  ...settings,
];

export const router = createBrowserRouter(
  [
    {
      errorElement: <RouteError />,
      // Before the sign-in page there is no frame that could stay empty.
      hydrateFallbackElement: <></>,
      children: [
        {
          path: "login",
          lazy: async () => ({ Component: (await import("@/features/login/LoginRoute")).default }),
        },
        {
          path: "logout",
          lazy: async () => ({ Component: (await import("@/features/login/LogoutPage")).default }),
        },
        {
          element: <RequireSession />,
          children: [
            {
              element: (
                <Shell />
              ),
              children: [
                { index: true, element: <Navigate to="/dashboard" replace /> },
                ...legacy,
                ...behindSignIn.map((route) => ({
                  ...route,
                  errorElement: <RouteError />,
                  hydrateFallbackElement: <Opening />,
                })),
                { path: "*", element: <Missing /> },
              ],
            },
          ],
        },
      ],
    },
  ],
  { basename: `${BASE_PATH}/det` },
);
