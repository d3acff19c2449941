import { Navigate, type RouteObject } from "react-router";

const tab = (path: string, load: () => Promise<{ default: React.ComponentType }>): RouteObject => ({
  path,
  lazy: async () => ({ Component: (await load()).default }),
});

const common = [
  tab("checkpoints", () => import("./tabs/CheckpointsTab")),
  tab("hyperparameters", () => import("./tabs/HyperparametersTab")),
  tab("metrics", () => import("./tabs/MetricsTab")),
  tab("code", () => import("./tabs/CodeTab")),
  tab("profiler", () => import("./tabs/ProfilerTab")),
  tab("logs", () => import("./tabs/LogsTab")),
  tab("story", () => import("./tabs/StoryTab")),
];

export const routes: RouteObject[] = [
  {
    path: "experiments/:experimentId",
    lazy: async () => ({ Component: (await import("./ExperimentPage")).default }),
    children: [
      { index: true, element: <Navigate to="overview" replace /> },
      tab("overview", () => import("./tabs/OverviewTab")),
      tab("visualization", () => import("./tabs/VisualizationTab")),
      // 0.38 had a page for each kind of chart.
      { path: "visualization/learning-curve", element: <Navigate to="../metrics" replace /> },
      { path: "visualization/:chart", element: <Navigate to="../visualization" replace /> },
      tab("notes", () => import("./tabs/NotesTab")),
      tab("trials", () => import("./tabs/TrialsTab")),
      tab("why", () => import("./tabs/WhyTab")),
      ...common,
    ],
  },
  ...["trials/:trialId", "experiments/:experimentId/trials/:trialId"].map((path) => ({
    path,
    lazy: async () => ({ Component: (await import("./TrialPage")).default }),
    children: [
      { index: true, element: <Navigate to="overview" replace /> },
      { path: "workloads", element: <Navigate to="../overview" replace /> },
      tab("overview", () => import("./tabs/TrialOverviewTab")),
      ...common,
    ],
  })),
];
