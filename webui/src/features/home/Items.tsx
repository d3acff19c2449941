import { Link } from "react-router";

import { formatPercent } from "@/data/format/numbers";
import type { OverviewItem } from "@/data/overview";
import { Progress } from "@/ui/feedback/Feedback";
import { StateBadge } from "@/ui/state/StateBadge";
import { Duration, Time } from "@/ui/text/Time";

import styles from "./Home.module.css";

const SHOWN = 6;

/** A few things of mine with their state, their progress and the reason of a failure. */
export function Items({ items, none }: { items: OverviewItem[]; none: string }) {
  if (items.length === 0) return <p className="muted">{none}</p>;
  return (
    <ul className={styles.items}>
      {items.slice(0, SHOWN).map((item) => (
        <li key={`${item.kind}${item.id}`} className={styles.item}>
          <div className="row" style={{ flexWrap: "nowrap" }}>
            <StateBadge state={item.state} plain label="" />
            <Link to={placeOf(item)} className="truncate">
              {item.name || item.id}
            </Link>
            <span className="hint" style={{ marginLeft: "auto", whiteSpace: "nowrap" }}>
              {item.endedAt ? <Time at={item.endedAt} /> : <Duration start={item.startedAt ?? undefined} />}
            </span>
          </div>
          {item.progress > 0 && !item.endedAt && (
            <div className="row">
              <div className="grow">
                <Progress value={item.progress} label={`Progress of ${item.name}`} />
              </div>
              <span className="hint number">{formatPercent(item.progress)}</span>
            </div>
          )}
          {item.reason && <div className="hint" style={{ overflowWrap: "anywhere" }}><bdi>{item.reason}</bdi></div>}
        </li>
      ))}
      {items.length > SHOWN && <li className="hint">and {items.length - SHOWN} more</li>}
    </ul>
  );
}

function placeOf(item: OverviewItem): string {
  return item.kind === "experiment" ? `/experiments/${item.id}` : `/${item.kind}/${item.id}/logs`;
}
