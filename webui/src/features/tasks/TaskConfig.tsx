import { useMemo } from "react";

import { useTaskConfig } from "@/data/tasks";
import { CodeViewer } from "@/ui/editor/Editor";
import { QueryView } from "@/ui/feedback/Feedback";
import { CopyButton } from "@/ui/text/Copy";

/** The configuration that a task runs by. */
export function TaskConfig({ id }: { id: string }) {
  const query = useTaskConfig(id);
  return (
    <QueryView query={query} what="the configuration">
      {(config) => <Shown config={config} />}
    </QueryView>
  );
}

function Shown({ config }: { config: string }) {
  const text = useMemo(() => indented(config), [config]);
  return (
    <div className="stack" style={{ maxWidth: 1100 }}>
      <div className="row">
        <span className="hint">As the master completed it, in JSON</span>
        <CopyButton text={text} label="Copy the configuration" />
      </div>
      <CodeViewer label="Configuration" path="config.json" value={text} height={560} wrap />
    </div>
  );
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
