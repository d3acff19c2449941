import { stateFamily, stateLabel, type StateFamily } from "@/data/states";

import styles from "./StateBadge.module.css";

/** A state with its colour, its shape and its word. Colour never stands alone. */
export function StateBadge({
  state,
  label,
  plain,
}: {
  state: string | undefined;
  label?: string;
  plain?: boolean;
}) {
  const family = stateFamily(state);
  return (
    <span className={`${styles.badge} ${styles[family]} ${plain ? styles.plain : ""}`}>
      <StateShape family={family} />
      {label ?? stateLabel(state)}
    </span>
  );
}

export function StateShape({ family }: { family: StateFamily }) {
  return (
    <svg width="14" height="14" viewBox="0 0 16 16" aria-hidden="true" style={{ flex: "none" }}>
      {shapeOf(family)}
    </svg>
  );
}

function shapeOf(family: StateFamily) {
  const stroke = { fill: "none", stroke: "currentColor", strokeWidth: 2 };
  switch (family) {
    case "waiting":
      return <circle cx="8" cy="8" r="5.5" {...stroke} />;
    case "preparing":
      return (
        <>
          <circle cx="8" cy="8" r="5.5" {...stroke} />
          <path d="M8 2.5a5.5 5.5 0 0 0 0 11z" fill="currentColor" />
        </>
      );
    case "running":
      return (
        <>
          <circle cx="8" cy="8" r="3.2" fill="currentColor" />
          <path className={styles.spin} d="M8 1.5A6.5 6.5 0 0 1 14.5 8" {...stroke} strokeWidth={1.6} />
        </>
      );
    case "paused":
      return <path d="M5.5 3.5v9M10.5 3.5v9" {...stroke} strokeWidth={2.6} />;
    case "done":
      return <path d="M3 8.5 6.5 12 13 4.5" {...stroke} />;
    case "failed":
      return <path d="M4 4l8 8M12 4l-8 8" {...stroke} />;
    case "stopping":
      return (
        <>
          <rect x="5.5" y="5.5" width="5" height="5" fill="currentColor" />
          <circle cx="8" cy="8" r="6.5" {...stroke} strokeWidth={1.2} />
        </>
      );
    case "ended":
      return <rect x="4" y="4" width="8" height="8" rx="1" fill="currentColor" />;
  }
}
