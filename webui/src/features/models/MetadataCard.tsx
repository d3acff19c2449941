import { useState } from "react";

import { flatten, shown } from "@/data/experiments/facts";
import { parseObject, toYaml } from "@/data/forms/yaml";
import { Button } from "@/ui/button/Button";
import { YamlField } from "@/ui/field/YamlField";
import { Card, Facts } from "@/ui/layout/Card";

type Metadata = Record<string, unknown>;

/** Names and values of the user; they are edited as YAML, so that values keep their types. */
export function MetadataCard({
  metadata = {},
  onSave,
}: {
  metadata?: Metadata | undefined;
  onSave?: ((metadata: Metadata) => Promise<unknown>) | undefined;
}) {
  const [draft, setDraft] = useState<string>();
  const facts = flatten(metadata);
  const parsed = parseObject(draft ?? "");
  return (
    <Card
      title="Metadata"
      actions={
        onSave &&
        draft === undefined && (
          <Button small icon="edit" onClick={() => setDraft(toYaml(metadata))}>
            Edit
          </Button>
        )
      }
    >
      {draft === undefined ? (
        facts.length > 0 ? (
          <Facts facts={facts.map(([name, value]) => [name, shown(value)] as const)} />
        ) : (
          <p className="hint">No metadata.</p>
        )
      ) : (
        <div className="stack">
          <YamlField label="Metadata (YAML)" hint="One name and value a line: team: vision" rows={8} value={draft} onValue={setDraft} />
          <div className="row">
            <Button
              look="primary"
              small
              disabledReason={"error" in parsed ? "The text is not valid YAML." : undefined}
              onClick={async () => {
                if ("value" in parsed && (await onSave?.(parsed.value)) !== false) setDraft(undefined);
              }}
            >
              Save
            </Button>
            <Button small onClick={() => setDraft(undefined)}>
              Cancel
            </Button>
          </div>
        </div>
      )}
    </Card>
  );
}
