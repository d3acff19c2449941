import { Navigate, type RouteObject } from "react-router";

const page = (path: string, load: () => Promise<{ default: React.ComponentType }>): RouteObject => ({
  path,
  lazy: async () => ({ Component: (await load()).default }),
});

export const routes: RouteObject[] = [
  page("models", () => import("./ModelsPage")),
  page("models/:modelName", () => import("./ModelPage")),
  page("models/:modelName/compare", () => import("./ComparePage")),
  {
    path: "models/:modelName/versions/:version",
    lazy: async () => ({ Component: (await import("./version/VersionPage")).default }),
    children: [
      { index: true, element: <Navigate to="overview" replace /> },
      page("overview", () => import("./version/OverviewTab")),
      page("files", () => import("./version/FilesTab")),
      page("metadata", () => import("./version/MetadataTab")),
      page("notes", () => import("./version/NotesTab")),
    ],
  },
];
