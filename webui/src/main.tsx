import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router";

import { boot } from "@/data/boot";
import { applyStoredPreferences } from "@/data/preferences";
import { queryClient } from "@/data/queryClient";
import { SessionProvider } from "@/data/session";
import { router } from "@/routes";

import "@/ui/nonce";
import "@/ui/tokens.css";
import "@/ui/base.css";

applyStoredPreferences();
// The sign-in does without it.
if (boot.user) void import("@/routes/prefetch").then(({ prefetchPages }) => prefetchPages(router));

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <SessionProvider>
        <RouterProvider router={router} />
      </SessionProvider>
    </QueryClientProvider>
  </StrictMode>,
);
