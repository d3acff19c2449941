import { RouterProvider } from "react-router";

import { boot } from "@/data/boot";
import { router } from "@/routes";

import { start } from "./start";

// The sign-in does without it.
if (boot.user) void import("@/routes/prefetch").then(({ prefetchPages }) => prefetchPages(router));

start(<RouterProvider router={router} />);
