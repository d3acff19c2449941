import { keys } from "@/data/keys";
import { versionName } from "@/data/registry/models";
import { useAct } from "@/ui/feedback/useAct";

import { MetadataCard } from "../MetadataCard";
import { useVersionContext } from "./VersionPage";

export default function MetadataTab() {
  const { version, edits, patch } = useVersionContext();
  const act = useAct();
  return (
    <MetadataCard
      metadata={version.metadata as Record<string, unknown> | undefined}
      onSave={
        edits
          ? (metadata) =>
              act(() => patch({ metadata }), { done: "Saved", failed: versionName(version), keys: [keys.models()] })
          : undefined
      }
    />
  );
}
