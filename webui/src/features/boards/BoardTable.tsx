import { useMemo, type ReactNode } from "react";
import { Link, useNavigate } from "react-router";

import type { Board } from "@/data/boards/queries";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { Empty } from "@/ui/feedback/Feedback";
import { SearchField } from "@/ui/field/SearchField";
import { Select } from "@/ui/field/Field";
import { Toolbar } from "@/ui/layout/Toolbar";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";
import { Time } from "@/ui/text/Time";

import { filterBoards, scopeWord } from "./filter";
import { useBoardMenu } from "./useBoardMenu";

const WHOSE = [
  { value: "", label: "Private and shared" },
  { value: "private", label: "Private" },
  { value: "project", label: "Shared" },
];
const keyOf = (board: Board) => board.id;
const nameOf = (board: Board) => board.name;

/** Boards of one project, or with `showsPlace` of several. */
export function BoardTable({ boards, showsPlace = false, action }: { boards: Board[]; showsPlace?: boolean; action?: ReactNode }) {
  const navigate = useNavigate();
  const [text, setText] = useParam("q", "");
  const [whose, setWhose] = useParam("scope", "");
  const columns = useColumns(showsPlace);
  const { menuOf, dialogs } = useBoardMenu();
  const shown = useMemo(() => filterBoards(boards, text, whose), [boards, text, whose]);
  if (boards.length === 0)
    return (
      <Empty title="No boards yet" action={action}>
        A board is a page of Markdown with live charts, tables and numbers of trials. It belongs to a
        project; who sees the project can open a shared board by its link.
      </Empty>
    );
  return (
    <div className="stack">
      <Toolbar
        end={
          <>
            <span role="status">{plural(shown.length, "board")}</span>
            {action}
          </>
        }
      >
        <SearchField label="Filter by name, project or owner" value={text} onValue={setText} />
        <Select label="Sharing" hideLabel value={whose} options={WHOSE} onValue={setWhose} />
      </Toolbar>
      <DataTable
        label="Boards"
        rows={shown}
        rowKey={keyOf}
        rowName={nameOf}
        columns={columns}
        rowMenu={menuOf}
        onOpen={(board) => void navigate(`/boards/${board.id}`)}
        empty={<Empty title="No board matches">Change the text or the choice of sharing.</Empty>}
      />
      {dialogs}
    </div>
  );
}

function useColumns(showsPlace: boolean): Column<Board>[] {
  return useMemo<Column<Board>[]>(
    () => [
      {
        id: "name",
        header: "Name",
        width: 240,
        grow: true,
        pin: true,
        sortable: true,
        value: (each) => each.name,
        render: (each) => <Link to={`/boards/${each.id}`}>{each.name}</Link>,
      },
      ...(showsPlace
        ? [
            {
              id: "project",
              header: "Project",
              width: 200,
              sortable: true,
              value: (each: Board) => `${each.workspaceName} / ${each.projectName}`,
              render: (each: Board) => (
                <>
                  <span className="muted">{each.workspaceName} / </span>
                  <Link to={`/projects/${each.projectId}/boards`}>{each.projectName}</Link>
                </>
              ),
            },
          ]
        : []),
      { id: "scope", header: "Sharing", width: 110, sortable: true, value: (each) => each.scope, render: (each) => scopeWord(each.scope) },
      { id: "owner", header: "Owner", width: 140, sortable: true, value: (each) => each.ownerName, render: (each) => each.ownerName },
      { id: "updated", header: "Changed", width: 120, type: "date", sortable: true, value: (each) => each.updatedAt, render: (each) => <Time at={each.updatedAt} /> },
    ],
    [showsPlace],
  );
}
