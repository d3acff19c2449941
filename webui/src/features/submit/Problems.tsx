import type { Check } from "@/data/configs/checked";
import type { Problem } from "@/data/configs/problems";

import styles from "./Submit.module.css";

/** Problems that no field and no line shows. */
export function Problems({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul className={styles.problems} role="alert">
      {problems.map(({ line, message }, index) => (
        <li key={index}>
          {line ? `Line ${line}: ` : ""}
          {message}
        </li>
      ))}
    </ul>
  );
}

export function Warnings({ check }: { check: Check }) {
  if (check.warnings.length === 0) return null;
  return (
    <ul className={styles.warnings} aria-label="Warnings">
      {check.warnings.map((warning) => (
        <li key={warning}>{warning}</li>
      ))}
    </ul>
  );
}
