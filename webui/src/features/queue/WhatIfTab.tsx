import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useOutletContext } from "react-router";

import { request } from "@/api/client";
import { formatPercent } from "@/data/format/numbers";
import { formatDuration } from "@/data/format/times";
import { Button } from "@/ui/button/Button";
import { ErrorNotice } from "@/ui/feedback/Feedback";
import { Select, TextField } from "@/ui/field/Field";
import { Card, PlainTable } from "@/ui/layout/Card";

import type { PoolContext } from "./PoolPage";

interface Variant {
  policy: string;
  agents: string;
}

interface Outcome extends Variant {
  tasks: number;
  ended: number;
  waitMeanS: number;
  waitP95S: number;
  utilisation: number;
  preemptions: number;
  error: string;
}

interface Answer {
  tasks: number;
  outcomes: Outcome[];
}

const POLICIES = [
  { value: "", label: "As recorded" },
  { value: "priority", label: "Priority" },
  { value: "priority+preemption", label: "Priority with preemption" },
  { value: "fair_share", label: "Fair share" },
];
const MAX_VARIANTS = 6;

/** Replays the recorded queue under other rules or with other agents, side by side. */
export default function WhatIfTab() {
  const { pool } = useOutletContext<PoolContext>();
  const [hours, setHours] = useState("24");
  const [variants, setVariants] = useState<Variant[]>([{ policy: "fair_share", agents: "" }]);
  const simulation = useMutation({
    mutationFn: () =>
      request<Answer>("POST", `/api/ui/v1/pools/${encodeURIComponent(pool.name ?? "")}/what-if`, {
        body: { hours: Number(hours), variants },
      }),
  });
  const change = (index: number, part: Partial<Variant>) =>
    setVariants(variants.map((each, at) => (at === index ? { ...each, ...part } : each)));
  return (
    <div className="stack" style={{ gap: 16 }}>
      <Card title="What would have happened?">
        <div className="stack">
          <p className="muted">
            The scheduler records the queue of this pool. A simulation replays the record with
            another policy or other agents; nothing of the cluster changes.
          </p>
          <div style={{ maxWidth: 160 }}>
            <TextField label="Hours of the record" inputMode="numeric" value={hours} onChange={(event) => setHours(event.target.value)} />
          </div>
          {variants.map((variant, index) => (
            <div key={index} className="row" style={{ alignItems: "flex-end" }}>
              <Select label={`Policy of variant ${index + 1}`} value={variant.policy} options={POLICIES} onValue={(policy) => change(index, { policy })} />
              <TextField label="Agents × slots" placeholder="as recorded, or 16x8" value={variant.agents} onChange={(event) => change(index, { agents: event.target.value })} />
              {variants.length > 1 && (
                <Button onClick={() => setVariants(variants.filter((_, at) => at !== index))}>Remove</Button>
              )}
            </div>
          ))}
          <div className="row">
            {variants.length < MAX_VARIANTS && (
              <Button icon="plus" onClick={() => setVariants([...variants, { policy: "", agents: "" }])}>
                Variant
              </Button>
            )}
            <Button look="primary" disabled={simulation.isPending} onClick={() => simulation.mutate()}>
              {simulation.isPending ? "Simulating …" : "Simulate"}
            </Button>
          </div>
        </div>
      </Card>
      {simulation.error && <ErrorNotice error={simulation.error} />}
      {simulation.data && (
        <Card title="Side by side" flush>
          <PlainTable
            label="Outcomes"
            columns={["Policy", "Agents", "Ended", "Mean wait", "95 % wait less than", "Slots used", "Preemptions"]}
          >
            {simulation.data.outcomes.map((outcome, index) => (
              <tr key={index}>
                <td>{outcome.policy}</td>
                <td>{outcome.agents}</td>
                {outcome.error ? (
                  <td colSpan={5}>{outcome.error}</td>
                ) : (
                  <>
                    <td className="number">
                      {outcome.ended} of {outcome.tasks}
                    </td>
                    <td className="number">{formatDuration(outcome.waitMeanS)}</td>
                    <td className="number">{formatDuration(outcome.waitP95S)}</td>
                    <td className="number">{formatPercent(outcome.utilisation)}</td>
                    <td className="number">{outcome.preemptions}</td>
                  </>
                )}
              </tr>
            ))}
          </PlainTable>
        </Card>
      )}
    </div>
  );
}
