import { useState } from "react";

import { deletePolicies, policyKey, putPolicies, usePolicies, type Scope, type Workload } from "@/data/configs/policies";
import { messageOf } from "@/api/errors";
import { plural } from "@/data/format/numbers";
import { parseObject, toYaml } from "@/data/forms/yaml";
import { useRights } from "@/data/permissions/permissions";
import { useWorkspaces, type Workspace } from "@/data/workspaces";
import { useQueryClient } from "@tanstack/react-query";
import { Button } from "@/ui/button/Button";
import { QueryView } from "@/ui/feedback/Feedback";
import { toast } from "@/ui/feedback/toast";
import { YamlField } from "@/ui/field/YamlField";
import { Card, Cards } from "@/ui/layout/Card";
import { confirm } from "@/ui/overlay/confirm";
import { useUnsaved } from "@/ui/overlay/unsaved";

const KINDS: { workload: Workload; title: string; things: string }[] = [
  { workload: "EXPERIMENT", title: "Experiments", things: "experiments" },
  { workload: "NTSC", title: "Notebooks, TensorBoards, shells and commands", things: "tasks" },
];

/** The policies of one scope, an editor for each kind of work. */
export function PolicyEditors({ scope, workspace }: { scope: Scope; workspace: Workspace | undefined }) {
  return (
    <div className="stack" style={{ gap: 16 }}>
      <p className="muted" style={{ maxWidth: "80ch" }}>
        <code>invariant_config</code> sets values that submissions cannot change;{" "}
        <code>constraints</code> limits slots and priorities. Policies of the cluster win over those of a
        workspace. An empty text deletes them.
      </p>
      <Cards least={420}>
        {KINDS.map((kind) => (
          <Kind key={kind.workload} scope={scope} workspace={workspace} {...kind} />
        ))}
      </Cards>
    </div>
  );
}

interface KindProps {
  scope: Scope;
  workspace: Workspace | undefined;
  workload: Workload;
  title: string;
  things: string;
}

function Kind(props: KindProps) {
  const query = usePolicies(props.scope, props.workload);
  return (
    <Card title={props.title}>
      <QueryView query={query} what="the policies">
        {(policies) => <Editor {...props} stored={toYaml(policies)} />}
      </QueryView>
    </Card>
  );
}

function Editor({ scope, workspace, workload, things, title, stored }: KindProps & { stored: string }) {
  const cache = useQueryClient();
  const { may } = useRights();
  const workspaces = useWorkspaces().data ?? [];
  const edits =
    scope === undefined
      ? may("PERMISSION_TYPE_MODIFY_GLOBAL_CONFIG_POLICIES")
      : may("PERMISSION_TYPE_MODIFY_WORKSPACE_CONFIG_POLICIES", scope);
  const [draft, setDraft] = useState<string>();
  const [refused, setRefused] = useState("");
  const text = draft ?? stored;
  const parsed = parseObject(text);
  const isEmpty = "value" in parsed && Object.keys(parsed.value).length === 0;
  const affected =
    scope === undefined
      ? `all ${plural(workspaces.length, "workspace")} of the cluster`
      : `workspace ${workspace?.name ?? scope}`;
  const save = async () => {
    const yes = await confirm({
      title: isEmpty ? "Delete the policies?" : "Apply the policies?",
      body: isEmpty
        ? `${title} that are submitted to ${affected} from now on are no longer limited by them.`
        : `All ${things} that are submitted to ${affected} from now on must follow them. What runs already stays as it is.`,
      action: isEmpty ? "Delete" : "Apply",
      danger: isEmpty,
    });
    if (!yes) return;
    try {
      if (isEmpty) await deletePolicies(scope, workload);
      else await putPolicies(scope, workload, text);
      toast.done(isEmpty ? "Deleted the policies" : "Applied the policies");
      await cache.invalidateQueries({ queryKey: policyKey(scope, workload) });
      // What was typed meanwhile stays.
      setDraft((now) => (now === text ? undefined : now));
    } catch (error) {
      setRefused(messageOf(error));
    }
  };
  const unchanged = draft === undefined || draft === stored;
  useUnsaved(!unchanged);
  return (
    <div className="stack">
      <YamlField
        label={`Policies for ${things}`}
        hideLabel
        rows={14}
        value={text}
        readOnly={!edits}
        error={refused || undefined}
        hint={stored ? undefined : "None are set. For example: constraints: {resources: {max_slots: 8}}"}
        onValue={(next) => {
          setDraft(next);
          setRefused("");
        }}
      />
      {edits && (
        <div className="row">
          <Button
            look={isEmpty && stored ? "danger" : "primary"}
            disabledReason={
              "error" in parsed ? "The text is not valid YAML." : unchanged || (isEmpty && !stored) ? "Nothing has changed." : undefined
            }
            onClick={() => void save()}
          >
            {isEmpty && stored ? "Delete …" : "Apply …"}
          </Button>
          <Button
            disabledReason={unchanged ? "Nothing has changed." : undefined}
            onClick={() => {
              setDraft(undefined);
              setRefused("");
            }}
          >
            Reset
          </Button>
        </div>
      )}
    </div>
  );
}
