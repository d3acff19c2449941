import { Navigate, useLocation, type RouteObject } from "react-router";

function ToRuns() {
  const { search, hash } = useLocation();
  return <Navigate to={`runs${search}${hash}`} replace />;
}

const page = async () => ({ Component: (await import("./ProjectPage")).default });

export const routes: RouteObject[] = [
  { path: "projects/:id", element: <ToRuns /> },
  { path: "projects/:id/:tab", lazy: page },
];
