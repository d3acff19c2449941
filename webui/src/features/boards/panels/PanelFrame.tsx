import type { ReactNode } from "react";

import { ErrorNotice, Loading } from "@/ui/feedback/Feedback";
import { Icon } from "@/ui/icons/Icon";

import styles from "../Boards.module.css";
import type { Problem } from "./types";

/** A panel that cannot be read, with its lines and their remedies. */
export function BrokenPanel({ problems, source }: { problems: readonly Problem[]; source: string }) {
  return (
    <section className={styles.broken} aria-label="A panel that cannot be read">
      <div className={styles.brokenHead}>
        <Icon name="warning" />
        <ul>
          {problems.map((each, at) => (
            <li key={at}>
              Line {each.line}: {each.reason}
            </li>
          ))}
        </ul>
      </div>
      <pre tabIndex={0} aria-label="Its text">
        {source}
      </pre>
    </section>
  );
}

/** The frame of a panel: a heading, a link to the whole, and its state. */
export function PanelFrame({
  title,
  end,
  children,
  flush,
}: {
  title: ReactNode;
  end?: ReactNode;
  children: ReactNode;
  flush?: boolean;
}) {
  return (
    <section className={styles.panel}>
      <div className={styles.panelHead}>
        <h3>{title}</h3>
        {end && <div className="hint row">{end}</div>}
      </div>
      <div className={flush ? styles.panelTable : styles.panelBody}>{children}</div>
    </section>
  );
}

/** What stands in a panel before its data, or in place of it. */
export function PanelState({
  reason,
  error,
  onRetry,
  rows = 3,
}: {
  /** Why the panel cannot be drawn as it is written. */
  reason?: string | undefined;
  error?: unknown;
  onRetry?: (() => void) | undefined;
  rows?: number;
}) {
  if (reason)
    return (
      <div className={styles.brokenHead} role="note">
        <Icon name="warning" />
        <p>{reason}</p>
      </div>
    );
  if (error) return <ErrorNotice error={error} {...(onRetry ? { onRetry } : {})} />;
  return <Loading what="the panel" rows={rows} />;
}
