import type { ReactNode } from "react";

import { Icon } from "../icons/Icon";
import styles from "./Toolbar.module.css";

/** A fact that a reader of the region needs before acting. */
export function Notice({ children }: { children: ReactNode }) {
  return (
    <div className={styles.notice} role="note">
      <Icon name="info" />
      <p>{children}</p>
    </div>
  );
}
