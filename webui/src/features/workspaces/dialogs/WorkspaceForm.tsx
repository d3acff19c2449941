import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Schemas } from "@/api/client";
import { parseObject, toYaml } from "@/data/forms/yaml";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { createWorkspace, patchWorkspace } from "@/data/workspace/queries";
import type { Workspace } from "@/data/workspaces";
import { AgentFields, agentOf, agentRefusal, draftOf } from "@/features/admin/AgentFields";
import { TextField } from "@/ui/field/Field";
import { YamlField } from "@/ui/field/YamlField";
import { FormDialog } from "@/ui/overlay/FormDialog";

import { NamespaceFields, namespaceMeta, type NamespaceDraft } from "./NamespaceFields";

/** Creates a workspace, or edits the given one. */
export function WorkspaceForm({
  workspace,
  onClose,
  onCreated,
}: {
  workspace?: Workspace;
  onClose(): void;
  onCreated?(id: number): void;
}) {
  const { may } = useRights();
  const id = workspace?.id;
  const storedStorage = toYaml(withoutUnset(workspace?.checkpointStorageConfig));
  const storedAgent = draftOf(workspace?.agentUserGroup);
  const [name, setName] = useState(workspace?.name ?? "");
  const [agent, setAgent] = useState(storedAgent);
  const [storage, setStorage] = useState(storedStorage);
  const [storageError, setStorageError] = useState("");
  const [namespaces, setNamespaces] = useState<Record<string, NamespaceDraft>>({});
  const managers = useManagers();
  const parsed = parseObject(storage);
  const submit = async () => {
    setStorageError("");
    const body: Schemas["PostWorkspaceRequest"] = {
      ...(name.trim() === workspace?.name ? {} : { name: name.trim() }),
      ...(agent === storedAgent ? {} : { agentUserGroup: agentOf(agent) ?? {} }),
      ...(storage === storedStorage || !("value" in parsed) ? {} : { checkpointStorageConfig: parsed.value }),
      ...(Object.keys(namespaces).length === 0 ? {} : { clusterNamespaceMeta: namespaceMeta(namespaces) }),
    };
    if (id !== undefined) await patchWorkspace(id, body);
    else {
      const made = await createWorkspace(body);
      onCreated?.(made.id ?? 0);
    }
  };
  return (
    <FormDialog
      title={workspace ? `Edit workspace ${workspace.name}` : "New workspace"}
      action={workspace ? "Save" : "Create"}
      width={600}
      unsaved={storage !== storedStorage}
      refusal={
        !name.trim()
          ? "A workspace needs a name."
          : "error" in parsed
            ? "The checkpoint storage is not valid YAML."
            : agentRefusal(agent)
      }
      onSubmit={submit}
      onClose={onClose}
      keys={[keys.workspaces()]}
      onRefused={(message) => {
        const isStorage = message.includes("checkpoint_storage");
        if (isStorage) setStorageError(message);
        return isStorage;
      }}
    >
      <TextField
        label="Name"
        value={name}
        readOnly={workspace?.immutable}
        hint={workspace?.immutable ? "The first workspace keeps its name." : undefined}
        onChange={(event) => setName(event.target.value)}
      />
      {may("PERMISSION_TYPE_SET_WORKSPACE_AGENT_USER_GROUP", id) && (
        <AgentFields
          legend="User and group of the tasks"
          hint="Tasks of the workspace run as this user and group on the agents. Empty: the user’s own, else the default of the cluster."
          value={agent}
          onValue={setAgent}
        />
      )}
      {may("PERMISSION_TYPE_SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG", id) && (
        <YamlField
          label="Checkpoint storage (YAML)"
          hint="For example: type: s3, bucket: checkpoints. Empty: the storage of the cluster."
          rows={6}
          value={storage}
          onValue={(text) => {
            setStorage(text);
            setStorageError("");
          }}
          error={storageError || undefined}
        />
      )}
      {managers.length > 0 && may("PERMISSION_TYPE_SET_WORKSPACE_NAMESPACE_BINDINGS", id) && (
        <NamespaceFields
          managers={managers}
          workspaceId={id}
          value={namespaces}
          onValue={setNamespaces}
        />
      )}
    </FormDialog>
  );
}

/** The Kubernetes clusters of the master; none with agents alone. */
function useManagers(): string[] {
  return (
    useQuery({
      queryKey: ["k8s-resource-managers"],
      queryFn: async () =>
        (await answer(api.GET("/api/v1/k8s-resource-managers", {}))).resourceManagers ?? [],
      staleTime: 60_000,
    }).data ?? []
  );
}

function withoutUnset(config: Record<string, unknown> | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config ?? {}).filter(([, value]) => value !== null));
}
