import { useCallback } from "react";
import { useNavigate } from "react-router";

import { useSession } from "@/data/session";

/** Ends the session, and leads to the login. */
export function useSignOut(): () => void {
  const { signOut } = useSession();
  const navigate = useNavigate();
  return useCallback(() => void signOut().finally(() => navigate("/login")), [navigate, signOut]);
}
