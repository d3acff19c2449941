import { useNavigate, useParams } from "react-router";

import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { patchModel, readModel, useModel, type Model, type Version } from "@/data/registry/models";
import { useUserName, useWorkspaces } from "@/data/workspaces";
import { IconButton } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { InlineText } from "@/ui/field/InlineText";
import { Card, Facts } from "@/ui/layout/Card";
import { Page } from "@/ui/layout/Page";
import { PageQuery } from "@/ui/layout/PageQuery";
import { isEmptyMenu, Menu } from "@/ui/overlay/Menu";
import { StateBadge } from "@/ui/state/StateBadge";
import { Time } from "@/ui/text/Time";
import { Link } from "react-router";

import { MetadataCard } from "./MetadataCard";
import styles from "./Models.module.css";
import { NotesCard } from "./NotesCard";
import { Tags } from "./Tags";
import { useModelMenu } from "./useModelMenu";
import { VersionsTable } from "./VersionsTable";

/** `/models/:name`; a number is accepted too. */
export default function ModelPage() {
  const name = useParams()["modelName"] ?? "";
  const query = useModel(name);
  return (
    <PageQuery query={query} what={`model ${name}`} name={`Model ${name}`}>
      {({ model, versions }) => <Shown model={model} versions={versions} />}
    </PageQuery>
  );
}

function Shown({ model, versions }: { model: Model; versions: Version[] }) {
  const navigate = useNavigate();
  const { menuOf, element } = useModelMenu(() => void navigate("/models"));
  const { may } = useRights();
  const act = useAct();
  const edits = may("PERMISSION_TYPE_EDIT_MODEL_REGISTRY", model.workspaceId) && !model.archived;
  const name = model.name ?? "";
  const save = (body: Parameters<typeof patchModel>[1]) =>
    act(() => patchModel(name, body), { done: "Saved", failed: `Model ${name}`, keys: [keys.models()] });
  return (
    <Page
      name={name}
      crumbs={[{ label: "Model registry", to: "/models" }, { label: name }]}
      badge={model.archived && <StateBadge state="ended" label="Archived" />}
      actions={
        !isEmptyMenu(menuOf(model)) && (
          <Menu trigger={<IconButton icon="more" look="normal" label="Actions of the model" />} items={menuOf(model)} />
        )
      }
    >
      <div className={styles.columns}>
        <div className="stack" style={{ gap: 16 }}>
          <VersionsTable model={model} versions={versions} edits={edits} />
          <NotesCard
            notes={model.notes ?? ""}
            readNow={async () => (await readModel(name)).notes}
            onSave={edits ? (notes) => save({ notes }) : undefined}
          />
        </div>
        <div className="stack" style={{ gap: 16 }}>
          <Card title="Facts">
            <ModelFacts model={model} onDescribe={edits ? (description) => save({ description }) : undefined} />
          </Card>
          <MetadataCard
            metadata={model.metadata as Record<string, unknown> | undefined}
            onSave={edits ? (metadata) => save({ metadata }) : undefined}
          />
        </div>
      </div>
      {element}
    </Page>
  );
}

function ModelFacts({ model, onDescribe }: { model: Model; onDescribe: ((text: string) => Promise<unknown>) | undefined }) {
  const nameOf = useUserName();
  const workspace = useWorkspaces().data?.find((each) => each.id === model.workspaceId);
  return (
    <Facts
      facts={[
        ["Description", <InlineText key="description" label="description" value={model.description ?? ""} onSave={onDescribe} />],
        ["Workspace", <Link key="workspace" to={`/workspaces/${model.workspaceId}/models`}>{workspace?.name ?? model.workspaceId}</Link>],
        ["Owner", nameOf(model.userId)],
        ["Tags", <Tags key="tags" tags={model.labels} />],
        ["Created", <Time key="created" at={model.creationTime} />],
        ["Updated", <Time key="updated" at={model.lastUpdatedTime} />],
      ]}
    />
  );
}
