import { useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";

import { shellWord } from "@/data/forms/shell";
import { plural } from "@/data/format/numbers";
import { keys } from "@/data/keys";
import { modelPath, patchVersion, versionName, type Model, type Version } from "@/data/registry/models";
import { useUserName } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { ButtonLink } from "@/ui/button/ButtonLink";
import { Empty } from "@/ui/feedback/Feedback";
import { useAct } from "@/ui/feedback/useAct";
import { InlineText } from "@/ui/field/InlineText";
import { Toolbar } from "@/ui/layout/Toolbar";
import { isEmptyMenu } from "@/ui/overlay/Menu";
import { DataTable } from "@/ui/table/DataTable";
import { NOTHING } from "@/ui/table/selection";
import type { Column, Selection } from "@/ui/table/types";
import { Time } from "@/ui/text/Time";

import { Tags } from "./Tags";
import { useVersionMenu } from "./version/useVersionMenu";

export function VersionsTable({
  model,
  versions,
  edits,
}: {
  model: Model;
  versions: Version[];
  edits: boolean;
}) {
  const navigate = useNavigate();
  const base = modelPath(model.name);
  const columns = useColumns(model, edits);
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const chosen = versions.filter((each) => selection.all !== selection.keys.has(each.version ?? 0));
  const { menuOf, element } = useVersionMenu(model);
  const pair = chosen.map((each) => each.version).sort((a, b) => (a ?? 0) - (b ?? 0));
  return (
    <div className="stack">
      <Toolbar
        end={
          pair.length === 2 ? (
            <ButtonLink small icon="columns" to={`${base}/compare?versions=${pair.join(",")}`}>
              Compare {pair.join(" and ")}
            </ButtonLink>
          ) : (
            <Button small icon="columns" disabledReason="Select two versions.">
              Compare
            </Button>
          )
        }
      >
        <h2>{plural(versions.length, "version")}</h2>
      </Toolbar>
      <DataTable
        label={`Versions of ${model.name}`}
        rows={versions}
        rowKey={(each) => each.version ?? 0}
        rowName={versionName}
        columns={columns}
        {...(versions.every((each) => isEmptyMenu(menuOf(each))) ? {} : { rowMenu: menuOf })}
        selection={selection}
        onSelection={setSelection}
        onOpen={(each) => void navigate(`${base}/versions/${each.version}`)}
        empty={
          <Empty title="No versions yet" command={`det model register-version ${shellWord(model.name ?? "")} UUID`}>
            Register a checkpoint from the page of its trial.
          </Empty>
        }
      />
      {element}
    </div>
  );
}

function useColumns(model: Model, edits: boolean): Column<Version>[] {
  const nameOf = useUserName();
  const act = useAct();
  const name = model.name ?? "";
  return useMemo<Column<Version>[]>(() => {
    const describe = (each: Version, comment: string) =>
      act(() => patchVersion(name, each.version ?? 0, { comment }), {
        done: "Saved",
        failed: versionName(each),
        undo: () => patchVersion(name, each.version ?? 0, { comment: each.comment ?? "" }),
        keys: [keys.models()],
      });
    return [
      {
        id: "version",
        header: "Version",
        width: 90,
        pin: true,
        type: "number",
        sortable: true,
        value: (each) => each.version,
        render: (each) => <Link to={`${modelPath(name)}/versions/${each.version}`}>v{each.version}</Link>,
      },
      { id: "name", header: "Name", width: 150, sortable: true, value: (each) => each.name, render: (each) => each.name || <span className="hint">–</span> },
      {
        id: "comment",
        header: "Description",
        width: 220,
        grow: true,
        value: (each) => each.comment,
        render: (each) => (
          <InlineText
            label={`description of version ${each.version}`}
            value={each.comment ?? ""}
            onSave={edits ? (text) => describe(each, text) : undefined}
          />
        ),
      },
      { id: "tags", header: "Tags", type: "list", width: 160, value: (each) => (each.labels ?? []).join(" "), render: (each) => <Tags tags={each.labels} /> },
      {
        id: "source",
        header: "Trial",
        width: 90,
        sortable: true,
        value: (each) => each.checkpoint?.training?.trialId,
        render: (each) => {
          const id = each.checkpoint?.training?.trialId;
          return id ? <Link to={`/trials/${id}`}>{id}</Link> : "–";
        },
      },
      { id: "created", header: "Registered", type: "date", width: 120, sortable: true, value: (each) => each.creationTime, render: (each) => <Time at={each.creationTime} /> },
      { id: "user", header: "User", width: 110, sortable: true, value: (each) => nameOf(each.userId), render: (each) => nameOf(each.userId) },
    ];
  }, [act, edits, name, nameOf]);
}
