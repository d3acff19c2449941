import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { answer, api, type Schemas } from "@/api/client";
import { toYaml } from "@/data/forms/yaml";
import { useRights } from "@/data/permissions/permissions";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { QueryView } from "@/ui/feedback/Feedback";
import { Checkbox, Select, TextField } from "@/ui/field/Field";
import { Card } from "@/ui/layout/Card";
import { CopyButton } from "@/ui/text/Copy";

import styles from "../Admin.module.css";

type Config = Record<string, unknown>;
type Level = NonNullable<Schemas["LogConfig"]["level"]>;

const KEY = ["master-config"] as const;
const LEVELS = ["trace", "debug", "info", "warning", "error", "critical"];

/** All settings of the master, secrets masked; the log's settings can be changed. */
export default function ConfigTab() {
  const { may } = useRights();
  const query = useQuery({
    queryKey: KEY,
    queryFn: async () => ((await answer(api.GET("/api/v1/master/config", {}))).config ?? {}) as Config,
  });
  return (
    <QueryView query={query} what="the configuration">
      {(config) => (
        <div className="stack" style={{ gap: 16 }}>
          {may("PERMISSION_TYPE_UPDATE_MASTER_CONFIG") && (
            <LogSettings key={JSON.stringify(config["log"])} log={config["log"] as { level?: string; color?: boolean } | undefined} />
          )}
          <Shown config={config} />
        </div>
      )}
    </QueryView>
  );
}

function LogSettings({ log }: { log: { level?: string; color?: boolean } | undefined }) {
  const act = useAct();
  const [level, setLevel] = useState(log?.level ?? "info");
  const [color, setColor] = useState(log?.color ?? true);
  const paths = [level !== log?.level && "log.level", color !== log?.color && "log.color"].filter(
    (each): each is string => Boolean(each),
  );
  const save = () =>
    act(
      () =>
        answer(
          api.PATCH("/api/v1/master/config", {
            body: {
              config: { log: { level: `LOG_LEVEL_${level.toUpperCase()}` as Level, color } },
              fieldMask: { paths } as unknown as Schemas["PatchMasterConfigRequest"]["fieldMask"],
            },
          }),
        ),
      { done: "The log’s settings apply until the master restarts", failed: "The log’s settings", keys: [KEY] },
    );
  return (
    <Card title="Log of the master">
      <div className="row" style={{ gap: 16, alignItems: "end" }}>
        <Select label="Level" value={level} onValue={setLevel} options={LEVELS} />
        <Checkbox label="Colours on a terminal" checked={color} onValue={setColor} />
        <Button look="primary" disabledReason={paths.length === 0 ? "Nothing has changed." : undefined} onClick={() => void save()}>
          Apply
        </Button>
      </div>
      <p className="hint" style={{ marginTop: 8 }}>
        The change holds until the master starts again. All other settings are in its configuration file.
      </p>
    </Card>
  );
}

function Shown({ config }: { config: Config }) {
  const [text, setText] = useState("");
  const all = useMemo(() => toYaml(config), [config]);
  const word = text.trim().toLowerCase();
  const parts = Object.entries(config).filter(([name, value]) => `${name} ${JSON.stringify(value)}`.toLowerCase().includes(word));
  return (
    <Card
      title="Settings in force"
      actions={
        <>
          <TextField label="Filter the settings" hideLabel placeholder="Filter" value={text} onChange={(event) => setText(event.target.value)} />
          <CopyButton text={all} label="Copy all as YAML" />
        </>
      }
      flush
    >
      <pre className={styles.code} tabIndex={0} role="region" aria-label="Settings in force">
        {word ? toYaml(Object.fromEntries(parts)) || "Nothing matches." : all}
      </pre>
    </Card>
  );
}
