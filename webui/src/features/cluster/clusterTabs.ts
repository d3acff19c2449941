import type { Tab } from "@/ui/layout/Page";

export const clusterTabs: Tab[] = [
  { label: "Overview", to: "/clusters", end: true },
  { label: "Jobs", to: "/jobs" },
  { label: "Health", to: "/clusters/health" },
  { label: "Historical usage", to: "/clusters/historical-usage" },
  { label: "Master log", to: "/clusters/logs" },
];
