import type { ReactNode } from "react";

import styles from "./Toolbar.module.css";

/** The line above a list: filters at the start, a count and acts at the end. */
export function Toolbar({ children, end }: { children: ReactNode; end?: ReactNode }) {
  return (
    <div className={styles.bar}>
      <div className={styles.start}>{children}</div>
      {end && <div className={styles.end}>{end}</div>}
    </div>
  );
}
