import { useOutletContext } from "react-router";

import { shown } from "@/data/experiments/facts";
import { flatten } from "@/data/experiments/facts";
import { Card, Facts } from "@/ui/layout/Card";

import type { PoolContext } from "./PoolPage";

/** The settings of the pool that have a value. */
export default function ConfigurationTab() {
  const { pool } = useOutletContext<PoolContext>();
  const facts = flatten(pool).filter(([, value]) => value !== "" && value !== null);
  return (
    <Card>
      <Facts facts={facts.map(([name, value]) => [name, <span key={name} className="mono">{shown(value)}</span>] as const)} />
    </Card>
  );
}
