import { useState } from "react";

import { useBoards } from "@/data/boards/queries";
import { Button } from "@/ui/button/Button";
import { QueryView } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";

import { BoardForm } from "./BoardForm";
import { BoardTable } from "./BoardTable";

/** `/boards`: the boards of all projects. */
export default function BoardsPage() {
  const query = useBoards();
  const [creates, setCreates] = useState(false);
  return (
    <Page
      name="Boards"
      actions={
        <Button look="primary" icon="plus" onClick={() => setCreates(true)}>
          New board
        </Button>
      }
    >
      <QueryView query={query} what="the boards">
        {(boards) => <BoardTable boards={boards} showsPlace />}
      </QueryView>
      {creates && <BoardForm onClose={() => setCreates(false)} />}
    </Page>
  );
}
