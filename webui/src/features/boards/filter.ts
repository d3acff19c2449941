import type { Board } from "@/data/boards/queries";

/** Boards whose name, project, workspace or owner has the text; `whose` narrows to private or shared ones. */
export function filterBoards(boards: readonly Board[], text: string, whose: string): Board[] {
  const word = text.trim().toLowerCase();
  return boards.filter(
    (each) =>
      (!whose || each.scope === whose) &&
      `${each.name}\n${each.projectName}\n${each.workspaceName}\n${each.ownerName}`.toLowerCase().includes(word),
  );
}

export function scopeWord(scope: Board["scope"]): string {
  return scope === "private" ? "Private" : "Shared";
}
