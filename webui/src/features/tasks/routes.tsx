import type { RouteObject } from "react-router";

const KINDS = ["command", "notebook", "shell", "tensorboard", "generic"];
const TABS = ["logs", "story", "config"] as const;
/** Only generic tasks start each other, and only shells have a terminal. */
const MORE: Readonly<Record<string, readonly ("tree" | "terminal")[]>> = { generic: ["tree"], shell: ["terminal"] };

export const routes: RouteObject[] = [
  { path: "tasks", lazy: async () => ({ Component: (await import("./TasksPage")).default }) },
  {
    path: "wait/:kind/:taskId",
    lazy: async () => ({ Component: (await import("./WaitPage")).default }),
  },
  ...KINDS.flatMap((kind) =>
    [...TABS, ...(MORE[kind] ?? [])].map((tab) => ({
      path: `${kind}/:taskId/${tab}`,
      lazy: async () => {
        const { default: TaskPage } = await import("./TaskPage");
        return { Component: () => <TaskPage kind={kind} tab={tab} /> };
      },
    })),
  ),
];
