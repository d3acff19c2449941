import { keys } from "@/data/keys";
import { readVersion, versionName } from "@/data/registry/models";
import { useAct } from "@/ui/feedback/useAct";

import { NotesCard } from "../NotesCard";
import { useVersionContext } from "./VersionPage";

export default function NotesTab() {
  const { model, version, edits, patch } = useVersionContext();
  const act = useAct();
  return (
    <NotesCard
      notes={version.notes ?? ""}
      readNow={async () => (await readVersion(model.name ?? "", version.version ?? 0)).notes}
      onSave={
        edits
          ? (notes) => act(() => patch({ notes }), { done: "Saved", failed: versionName(version), keys: [keys.models()] })
          : undefined
      }
    />
  );
}
