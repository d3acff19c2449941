import { useState } from "react";

import { useBoards } from "@/data/boards/queries";
import { Button } from "@/ui/button/Button";
import { QueryView } from "@/ui/feedback/Feedback";

import { BoardForm } from "./BoardForm";
import { BoardTable } from "./BoardTable";

/** The tab of a project with its boards. */
export function ProjectBoards({ projectId, workspaceId }: { projectId: number; workspaceId: number | undefined }) {
  const query = useBoards(projectId);
  const [creates, setCreates] = useState(false);
  return (
    <QueryView query={query} what="the boards">
      {(boards) => (
        <>
          <BoardTable
            boards={boards}
            action={
              <Button look="primary" icon="plus" onClick={() => setCreates(true)}>
                New board
              </Button>
            }
          />
          {creates && <BoardForm place={{ projectId, workspaceId }} onClose={() => setCreates(false)} />}
        </>
      )}
    </QueryView>
  );
}
