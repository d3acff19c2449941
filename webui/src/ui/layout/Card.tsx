import type { CSSProperties, ReactNode } from "react";

import styles from "./Layout.module.css";

export function Card({
  title,
  actions,
  children,
  flush,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  flush?: boolean;
}) {
  return (
    <section className={styles.card}>
      {title && (
        <div className={styles.cardHead}>
          <h2>{title}</h2>
          {actions && <div className="row">{actions}</div>}
        </div>
      )}
      <div className={flush ? undefined : styles.cardBody}>{children}</div>
    </section>
  );
}

/** A grid whose columns are at least `least` px wide. */
export function Cards({ children, least }: { children: ReactNode; least?: number }) {
  const style = least ? ({ "--least": `${least}px` } as CSSProperties) : undefined;
  return (
    <div className={styles.cards} style={style}>
      {children}
    </div>
  );
}

/** A name with its value; a falsy entry is left out. */
export type Fact = readonly [string, ReactNode] | false | undefined;

/** Names with values. */
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(
        (fact) =>
          fact && (
            <div key={fact[0]} style={{ display: "contents" }}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1] ?? <span className="muted">–</span>}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

export function Stat({ label, children }: { label: string; children: ReactNode }) {
  return (
    <dl className={styles.stat}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </dl>
  );
}

/** The head of a column of buttons: it has a name for those who hear the table. */
export function ActsHead() {
  return <span className="visually-hidden">Actions</span>;
}

/** A short table without paging, for a dozen rows; long lists use `ui/table`. */
export function PlainTable({
  label,
  columns,
  children,
}: {
  label: string;
  columns: ReactNode[];
  children: ReactNode;
}) {
  return (
    <div className={styles.scroll} role="region" aria-label={label} tabIndex={0}>
      <table className={styles.plain}>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
