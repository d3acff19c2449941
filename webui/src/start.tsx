/** What every page of the build begins with. */
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode, type ReactNode } from "react";
import { createRoot } from "react-dom/client";

import { applyStoredPreferences } from "@/data/preferences";
import { queryClient } from "@/data/queryClient";
import { SessionProvider } from "@/data/session";

import "@/ui/nonce";
import "@/ui/tokens.css";
import "@/ui/base.css";

export function start(page: ReactNode): void {
  applyStoredPreferences();
  const root = document.getElementById("root");
  if (!root) throw new Error("the page has no element #root");
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <SessionProvider>{page}</SessionProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}
