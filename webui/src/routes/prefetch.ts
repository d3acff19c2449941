/**
 * The first requests of a page, sent while its code is on the way.
 *
 * A page asks for the same with the same keys, and finds the answer or the request under way.
 */
import { matchPath, type createBrowserRouter } from "react-router";

import { boot } from "@/data/boot";
import { experimentQuery, trialQuery, trialsQuery } from "@/data/experiments/queries";
import { columnsQuery, projectQuery } from "@/data/projects";
import { queryClient } from "@/data/queryClient";
import { viewsQuery } from "@/data/view/views";
import { usersQuery } from "@/data/workspaces";

type Router = ReturnType<typeof createBrowserRouter>;
type Numbers = Record<string, number>;

const PAGES: [pattern: string, send: (ids: Numbers, tab: string) => void][] = [
  ["/projects/:id/:tab", ({ id = 0 }, tab) => prefetchProject(id, tab)],
  ["/searches/:id/runs", ({ id = 0 }) => void queryClient.prefetchQuery(experimentQuery(id))],
  ["/experiments/:id/trials/:trial/*", ({ id = 0, trial = 0 }) => {
    void queryClient.prefetchQuery(trialQuery(trial));
    void queryClient.prefetchQuery(experimentQuery(id));
  }],
  ["/experiments/:id/*", ({ id = 0 }) => {
    void queryClient.prefetchQuery(experimentQuery(id));
    void queryClient.prefetchQuery(trialsQuery(id));
  }],
  ["/trials/:trial/*", ({ trial = 0 }) => void queryClient.prefetchQuery(trialQuery(trial))],
];

/** For the address that the browser came with, and for each that the router goes to. */
export function prefetchPages(router: Router): void {
  // Before the sign-in every answer would be a refusal.
  if (boot.user) prefetch(below(router, location.pathname));
  router.subscribe(({ navigation }) => {
    if (navigation.location) prefetch(below(router, navigation.location.pathname));
  });
}

function below({ basename = "" }: Router, path: string): string {
  return path.startsWith(basename) ? path.slice(basename.length) || "/" : path;
}

/** `path` is below `/det`. Addresses that no page reads by number have no first requests here. */
export function prefetch(path: string): void {
  for (const [pattern, send] of PAGES) {
    const found = matchPath(pattern, path);
    if (!found) continue;
    const ids = Object.entries(found.params).filter(([name]) => name !== "tab" && name !== "*");
    const numbers = Object.fromEntries(ids.map(([name, text]) => [name, Number(text)]));
    if (Object.values(numbers).every((each) => Number.isInteger(each) && each > 0))
      send(numbers, (found.params as { tab?: string }).tab ?? "");
    return;
  }
}

function prefetchProject(id: number, tab: string): void {
  void queryClient.prefetchQuery(projectQuery(id));
  if (tab === "notes") return;
  void queryClient.prefetchQuery(columnsQuery(id, tab === "runs" ? "run" : "experiment"));
  void queryClient.prefetchQuery(viewsQuery(id));
  void queryClient.prefetchQuery(usersQuery());
}
