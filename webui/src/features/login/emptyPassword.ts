/** The notice that a user has no password: it is shown on the page after the sign-in. */
import { useEffect } from "react";

import { login as text } from "@/strings/shell";
import { toast } from "@/ui/feedback/toast";

const KEY = "det.emptyPassword";

export function keepNotice(): void {
  sessionStorage.setItem(KEY, "1");
}

export function useEmptyPasswordNotice(): void {
  useEffect(() => {
    if (!sessionStorage.getItem(KEY)) return;
    sessionStorage.removeItem(KEY);
    toast.info(text.emptyPassword);
  }, []);
}
