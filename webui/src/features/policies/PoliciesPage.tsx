import { useParam } from "@/data/forms/param";
import { useWorkspaces } from "@/data/workspaces";
import { Select } from "@/ui/field/Field";
import { Page } from "@/ui/layout/Page";
import { Toolbar } from "@/ui/layout/Toolbar";

import { PolicyEditors } from "./PolicyEditors";

/** `/policies`: the policies of the cluster, or of the workspace in `?workspace=`. */
export default function PoliciesPage() {
  const [chosen, setChosen] = useParam("workspace", "");
  const workspaces = (useWorkspaces().data ?? []).filter((each) => !each.archived);
  const scope = chosen ? Number(chosen) : undefined;
  return (
    <Page name="Config policies">
      <div className="stack" style={{ gap: 16 }}>
        <Toolbar>
          <Select
            label="Scope"
            hideLabel
            value={chosen}
            onValue={setChosen}
            options={[
              { value: "", label: "Whole cluster" },
              ...workspaces.map((each) => ({ value: String(each.id), label: `Workspace ${each.name}` })),
            ]}
          />
        </Toolbar>
        <PolicyEditors
          key={chosen}
          scope={scope}
          workspace={workspaces.find((each) => each.id === scope)}
        />
      </div>
    </Page>
  );
}
