// The list that the tests in a browser visit. After a change of routes: npx vitest run src/routes -u
import type { RouteObject } from "react-router";
import { expect, it } from "vitest";

import { router } from "./index";

interface Addresses {
  /** Patterns with a page of their own. */
  pages: string[];
  /** Patterns that lead to another address. */
  moves: string[];
}

function addressesOf(routes: readonly RouteObject[], above: string, found: Addresses): Addresses {
  for (const route of routes) {
    const pattern = [above, route.path].filter(Boolean).join("/");
    if (route.children) addressesOf(route.children, pattern, found);
    else if (route.lazy || route.path === "*") found.pages.push(pattern);
    else found.moves.push(pattern);
  }
  return found;
}

it("has the addresses of addresses.json", async () => {
  const { pages, moves } = addressesOf(router.routes as RouteObject[], "", { pages: [], moves: [] });
  const text = JSON.stringify({ pages: pages.sort(), moves: moves.sort() }, null, 2);
  await expect(`${text}\n`).toMatchFileSnapshot("addresses.json");
});
