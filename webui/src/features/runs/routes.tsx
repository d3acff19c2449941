import { Navigate, useLocation, type RouteObject } from "react-router";

function ToRuns() {
  const { search, hash } = useLocation();
  return <Navigate to={`runs${search}${hash}`} replace />;
}

export const routes: RouteObject[] = [
  { path: "searches/:id", element: <ToRuns /> },
  {
    path: "searches/:id/:tab",
    lazy: async () => ({ Component: (await import("./SearchPage")).default }),
  },
];
