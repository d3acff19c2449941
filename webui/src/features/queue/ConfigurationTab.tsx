import { useOutletContext } from "react-router";

import { enumWord } from "@/data/cluster/queries";
import { flatten, shown } from "@/data/experiments/facts";
import { Card, Facts } from "@/ui/layout/Card";

import type { PoolContext } from "./PoolPage";

const CODE = /^(RESOURCE_POOL_TYPE|SCHEDULER_TYPE|FITTING_POLICY|TYPE)_/;

/** The settings of the pool that have a value. */
export default function ConfigurationTab() {
  const { pool } = useOutletContext<PoolContext>();
  const facts = flatten(pool).filter(([, value]) => value !== "" && value !== null);
  return (
    <Card>
      <Facts facts={facts.map(([name, value]) => [name, <span key={name} className="mono">{typeof value === "string" && CODE.test(value) ? enumWord(value, CODE) : shown(value)}</span>] as const)} />
    </Card>
  );
}
