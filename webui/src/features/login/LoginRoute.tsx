import { useCallback } from "react";
import { useLocation, useNavigate } from "react-router";

import { LoginPage } from "./LoginPage";

/** The sign-in for who was on another page: the page goes on without a new load. */
export default function LoginRoute() {
  const { search } = useLocation();
  const navigate = useNavigate();
  const go = useCallback((target: string) => void navigate(target, { replace: true }), [navigate]);
  return <LoginPage search={search} go={go} />;
}
