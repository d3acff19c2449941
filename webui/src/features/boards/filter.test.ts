import { expect, it } from "vitest";

import type { Board } from "@/data/boards/queries";

import { filterBoards } from "./filter";

const board = (change: Partial<Board>): Board => ({
  id: 1,
  name: "Weekly",
  scope: "project",
  ownerId: 1,
  ownerName: "ada",
  projectId: 1,
  projectName: "vision",
  workspaceId: 1,
  workspaceName: "lab",
  canEdit: true,
  text: "",
  version: 1,
  createdAt: "",
  updatedAt: "",
  ...change,
});

it("boards are found by name, project, workspace and owner, and by their sharing", () => {
  const boards = [board({}), board({ id: 2, name: "Mine", scope: "private", ownerName: "eve", projectName: "speech" })];
  const ids = (text: string, whose = "") => filterBoards(boards, text, whose).map((each) => each.id);
  expect(ids("WEEK")).toEqual([1]);
  expect(ids("speech")).toEqual([2]);
  expect(ids("eve")).toEqual([2]);
  expect(ids("lab")).toEqual([1, 2]);
  expect(ids("", "private")).toEqual([2]);
});
