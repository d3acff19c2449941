import { Outlet, useNavigate, useOutletContext, useParams } from "react-router";

import { modelPath, patchVersion, useModel, useVersion, versionName, type Model, type Version } from "@/data/registry/models";
import { useRights } from "@/data/permissions/permissions";
import { IconButton } from "@/ui/button/Button";
import { Select } from "@/ui/field/Field";
import { Page } from "@/ui/layout/Page";
import { PageQuery } from "@/ui/layout/PageQuery";
import { isEmptyMenu, Menu } from "@/ui/overlay/Menu";

import { useVersionMenu } from "./useVersionMenu";

export interface VersionContext {
  model: Model;
  version: Version;
  edits: boolean;
  patch(body: Parameters<typeof patchVersion>[2]): Promise<void>;
}

export function useVersionContext(): VersionContext {
  return useOutletContext<VersionContext>();
}

/** `/models/:name/versions/:n/:tab`. */
export default function VersionPage() {
  const params = useParams();
  const name = params["modelName"] ?? "";
  const number = Number(params["version"]);
  const query = useVersion(name, number);
  return (
    <PageQuery query={query} what={`version ${number} of ${name}`} name={`Version ${number} of ${name}`}>
      {(version) => <Shown version={version} />}
    </PageQuery>
  );
}

function Shown({ version }: { version: Version }) {
  const model = version.model ?? {};
  const name = model.name ?? "";
  const navigate = useNavigate();
  const { may } = useRights();
  const base = modelPath(name);
  const own = `${base}/versions/${version.version}`;
  const { menuOf, element } = useVersionMenu(model, () => void navigate(base));
  const others = (useModel(name).data?.versions ?? []).filter((each) => each.version !== version.version);
  const context: VersionContext = {
    model,
    version,
    edits: may("PERMISSION_TYPE_EDIT_MODEL_REGISTRY", model.workspaceId) && !model.archived,
    patch: (body) => patchVersion(name, version.version ?? 0, body),
  };
  return (
    <Page
      name={`${name} version ${version.version}`}
      title={versionName(version)}
      crumbs={[
        { label: "Model registry", to: "/models" },
        { label: name, to: base },
        { label: `Version ${version.version}` },
      ]}
      actions={
        <>
          {others.length > 0 && (
            <Select
              label="Compare with"
              hideLabel
              value=""
              onValue={(other) => void navigate(`${base}/compare?versions=${version.version},${other}`)}
              options={[
                { value: "", label: "Compare with …" },
                ...others.map((each) => ({ value: String(each.version), label: versionName(each) })),
              ]}
            />
          )}
          {!isEmptyMenu(menuOf(version)) && (
            <Menu trigger={<IconButton icon="more" look="normal" label="Actions of the version" />} items={menuOf(version)} />
          )}
        </>
      }
      tabs={[
        { label: "Overview", to: `${own}/overview` },
        { label: "Files", to: `${own}/files` },
        { label: "Metadata", to: `${own}/metadata` },
        { label: "Notes", to: `${own}/notes` },
      ]}
    >
      <Outlet context={context} />
      {element}
    </Page>
  );
}
