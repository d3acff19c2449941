/** Boards: pages of a project with Markdown and panels (`docs/ui-api.md`). */
import { useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

export type BoardScope = "private" | "project";

/** A board of a list has neither text nor panels. */
export interface Board {
  id: number;
  name: string;
  scope: BoardScope;
  ownerId: number;
  ownerName: string;
  projectId: number;
  projectName: string;
  workspaceId: number;
  workspaceName: string;
  canEdit: boolean;
  text: string;
  version: number;
  createdAt: string;
  updatedAt: string;
}

export interface BoardChange {
  name?: string;
  scope?: BoardScope;
  text?: string;
  /** What the panels of the text say, for programs; the text decides. */
  panels?: unknown[];
}

export const boardsKey = ["boards"] as const;

const boardKey = (id: number) => [...boardsKey, "one", id] as const;

/** Others change boards too; there is no live topic for them. */
const LIST_POLL_MS = 30_000;
const BOARD_POLL_MS = 15_000;

/** The boards of a project, or of all projects. */
export function useBoards(projectId?: number) {
  const path = projectId === undefined ? "/api/ui/v1/boards" : `/api/ui/v1/projects/${projectId}/boards`;
  return useQuery({
    queryKey: [...boardsKey, "of", projectId ?? 0],
    queryFn: async () => (await request<{ boards: Board[] }>("GET", path)).boards,
    refetchInterval: LIST_POLL_MS,
    retry: false,
  });
}

export function useBoard(id: number) {
  return useQuery({
    queryKey: boardKey(id),
    queryFn: () => readBoard(id),
    enabled: Number.isInteger(id) && id > 0,
    refetchInterval: BOARD_POLL_MS,
  });
}

export async function readBoard(id: number): Promise<Board> {
  return (await request<{ board: Board }>("GET", `/api/ui/v1/boards/${id}`)).board;
}

export async function createBoard(projectId: number, body: Required<BoardChange>): Promise<Board> {
  return (await request<{ board: Board }>("POST", `/api/ui/v1/projects/${projectId}/boards`, { body })).board;
}

/** @throws ApiError with the status 409 when the board has another version by now. */
export async function changeBoard(id: number, version: number, change: BoardChange): Promise<Board> {
  const body = { version, ...change };
  return (await request<{ board: Board }>("PATCH", `/api/ui/v1/boards/${id}`, { body })).board;
}

export async function deleteBoard(id: number): Promise<void> {
  await request("DELETE", `/api/ui/v1/boards/${id}`);
}
