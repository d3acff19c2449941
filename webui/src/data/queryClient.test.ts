import { QueryClient } from "@tanstack/react-query";
import { describe, expect, it } from "vitest";

import { keys } from "./keys";
import { takeBoot } from "./queryClient";

describe("the answers that come with the page", () => {
  const boot = {
    master: { version: "0.38.1" },
    permissions: { roles: [] },
    settings: [{ key: "theme", storagePath: "webui/preferences", value: '"dark"' }],
    workspaces: [{ id: 1, name: "Uncategorized" }],
    users: [{ id: 2, username: "ada" }],
    project: { id: 7, name: "vision" },
  } as unknown as Parameters<typeof takeBoot>[1];

  it("need no request of their own", () => {
    const cache = new QueryClient();
    takeBoot(cache, boot);
    expect(cache.getQueryData(keys.master())).toEqual(boot.master);
    expect(cache.getQueryData(keys.permissions())).toEqual(boot.permissions);
    expect(cache.getQueryData(keys.settings())).toEqual(boot.settings);
    expect(cache.getQueryData(keys.workspaces())).toEqual(boot.workspaces);
    expect(cache.getQueryData(keys.users())).toEqual(boot.users);
    expect(cache.getQueryData(keys.project(7))).toEqual(boot.project);
  });

  it("leave with the user whose answers they are", () => {
    const cache = new QueryClient();
    takeBoot(cache, boot);
    cache.clear();
    expect(cache.getQueryData(keys.settings())).toBeUndefined();
    expect(cache.getQueryData(keys.permissions())).toBeUndefined();
  });

  it("that are missing are asked for", () => {
    const cache = new QueryClient();
    takeBoot(cache, {});
    expect(cache.getQueryCache().getAll()).toEqual([]);
  });
});
