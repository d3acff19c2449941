/** Addresses that the original's pages, its command line and old bookmarks use. */
import { Navigate, useLocation, useParams, type RouteObject } from "react-router";

function Moved({ to }: { to(params: Record<string, string | undefined>): string }) {
  const { search, hash } = useLocation();
  return <Navigate to={to(useParams()) + search + hash} replace />;
}

const moved = (path: string, to: (params: Record<string, string | undefined>) => string) => ({
  path,
  element: <Moved to={to} />,
});

export const legacy: RouteObject[] = [
  moved("cluster/*", () => "/clusters"),
  moved("cluster/historical-usage", () => "/clusters/historical-usage"),
  moved("cluster/logs", () => "/clusters/logs"),
  moved("logs", () => "/clusters/logs"),
  moved("projects", () => "/projects/1/experiments"),
  moved("experiments", () => "/projects/1/experiments"),
  moved("notebooks", () => "/tasks?type=notebook"),
  moved("shells", () => "/tasks?type=shell"),
  moved("commands", () => "/tasks?type=command"),
  moved("tensorboards", () => "/tasks?type=tensorboard"),
];
