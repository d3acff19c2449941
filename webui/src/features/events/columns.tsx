import { Link } from "react-router";

import type { ClusterEvent } from "@/data/events";
import { formatInstant } from "@/data/format/times";
import { Icon } from "@/ui/icons/Icon";
import type { Column } from "@/ui/table/types";

import styles from "./Events.module.css";
import { placeOf, thingWord } from "./eventRows";

export const columns: Column<ClusterEvent>[] = [
  {
    id: "at",
    header: "Time",
    width: 170,
    type: "date",
    sortable: true,
    value: (event) => event.at,
    render: (event) => (
      <time dateTime={event.at} className="number">
        {formatInstant(event.at)}
      </time>
    ),
  },
  {
    id: "user",
    header: "Who",
    width: 130,
    sortable: true,
    value: (event) => event.username,
    render: (event) => event.username || <span className="muted">the master</span>,
  },
  {
    id: "text",
    header: "What",
    width: 380,
    grow: true,
    value: (event) => event.text,
    render: (event) => (
      <span title={event.text}>
        {event.level !== "info" && (
          <span className={styles.level} data-level={event.level}>
            <Icon name="warning" label={event.level === "error" ? "Error" : "Warning"} size={14} />{" "}
          </span>
        )}
        {event.text}
      </span>
    ),
  },
  {
    id: "thing",
    header: "On",
    width: 240,
    sortable: true,
    value: (event) => `${event.thing.name} ${event.thing.kind} ${event.thing.id}`,
    render: (event) => {
      const place = placeOf(event.thing);
      const word = thingWord(event.thing);
      const isNamed = event.thing.name !== "" && event.thing.name !== event.thing.id;
      return (
        <>
          {place ? <Link to={place}>{isNamed ? event.thing.name : word}</Link> : isNamed ? event.thing.name : word}
          {isNamed && <span className="muted"> {word}</span>}
        </>
      );
    },
  },
];
