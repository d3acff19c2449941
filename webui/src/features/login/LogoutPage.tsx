import { useEffect } from "react";
import { Navigate } from "react-router";

import { useSession } from "@/data/session";
import { Loading } from "@/ui/feedback/Feedback";

export default function LogoutPage() {
  const { status, signOut } = useSession();
  useEffect(() => {
    if (status === "signed-in" || status === "expired") void signOut();
  }, [signOut, status]);
  if (status === "signed-out") return <Navigate to="/login?hard_logout=true" replace />;
  return <Loading what="the sign-out" rows={1} />;
}
