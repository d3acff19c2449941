import { Fragment } from "react";
import { useParams } from "react-router";

import { useParam } from "@/data/forms/param";
import { compareVersions, type ComparedRow } from "@/data/registry/compare";
import { modelPath, useModel, versionName, type Version } from "@/data/registry/models";
import { NotFound, QueryView } from "@/ui/feedback/Feedback";
import { Checkbox, Select } from "@/ui/field/Field";
import { Card, PlainTable } from "@/ui/layout/Card";
import { Page } from "@/ui/layout/Page";
import { Toolbar } from "@/ui/layout/Toolbar";
import { Link } from "react-router";

import styles from "./Models.module.css";

/** `/models/:name/compare?versions=1,2`: two versions side by side. */
export default function ComparePage() {
  const name = useParams()["modelName"] ?? "";
  const query = useModel(name);
  return (
    <Page
      name={`Compare versions of ${name}`}
      crumbs={[{ label: "Model registry", to: "/models" }, { label: name, to: modelPath(name) }, { label: "Compare" }]}
    >
      <QueryView query={query} what={`model ${name}`}>
        {({ versions }) => <Compared name={name} versions={versions} />}
      </QueryView>
    </Page>
  );
}

function Compared({ name, versions }: { name: string; versions: Version[] }) {
  const [pair, setPair] = useParam("versions", "");
  const [all, setAll] = useParam("all", "");
  const [first, second] = pair.split(",").map(Number);
  const find = (number: number | undefined) => versions.find((each) => each.version === number);
  const a = find(first) ?? versions[1];
  const b = find(second) ?? versions[0];
  if (!a || !b) return <NotFound what="pair of versions" message="A comparison needs two versions." />;
  const rows = compareVersions(a, b).filter((each) => all === "1" || each.differs);
  const options = versions.map((each) => ({ value: String(each.version), label: versionName(each) }));
  return (
    <div className="stack">
      <Toolbar>
        <Select label="First version" hideLabel value={String(a.version)} options={options} onValue={(value) => setPair(`${value},${b.version}`)} />
        <Select label="Second version" hideLabel value={String(b.version)} options={options} onValue={(value) => setPair(`${a.version},${value}`)} />
        <Checkbox label="Equal values too" checked={all === "1"} onValue={(on) => setAll(on ? "1" : "")} />
      </Toolbar>
      {rows.length === 0 ? (
        <p className="hint">The versions do not differ.</p>
      ) : (
        <Card flush>
          <PlainTable label="Differences" columns={["Value", ...[a, b].map((each) => <Link key={each.version} to={`${modelPath(name)}/versions/${each.version}`}>{versionName(each)}</Link>)]}>
            {groups(rows).map(([group, inside]) => (
              <Fragment key={group}>
                <tr>
                  <th scope="colgroup" colSpan={3}>
                    {group}
                  </th>
                </tr>
                {inside.map((row) => (
                  <tr key={row.name}>
                    <td>{row.name}</td>
                    {row.values.map((value, index) => (
                      <td key={index} className={`mono ${row.differs ? (styles.differs ?? "") : ""}`} style={{ overflowWrap: "anywhere" }}>
                        {value || "–"}
                      </td>
                    ))}
                  </tr>
                ))}
              </Fragment>
            ))}
          </PlainTable>
        </Card>
      )}
    </div>
  );
}

function groups(rows: ComparedRow[]): [string, ComparedRow[]][] {
  const found = new Map<string, ComparedRow[]>();
  for (const row of rows) found.set(row.group, [...(found.get(row.group) ?? []), row]);
  return [...found];
}
