import type { Check } from "@/data/configs/checked";
import { plural } from "@/data/format/numbers";
import { Icon, type IconName } from "@/ui/icons/Icon";

import styles from "./Submit.module.css";

const ICONS: Record<Check["state"], IconName> = {
  checking: "refresh",
  valid: "check",
  refused: "warning",
  unknown: "warning",
};

/** What the master says about the text now, in one line. */
export function CheckStatus({ check }: { check: Check }) {
  return (
    <span className={styles.state} data-state={check.state}>
      <Icon name={ICONS[check.state]} />
      {/* Each pause in typing starts a check: only its result is read out. */}
      <span role="status">{check.state !== "checking" && wordsOf(check)}</span>
      {check.state === "checking" && <span aria-hidden="true">{wordsOf(check)}</span>}
    </span>
  );
}

function wordsOf({ state, problems, warnings, reason }: Check): string {
  switch (state) {
    case "checking":
      return "Checking …";
    case "valid":
      return warnings.length > 0 ? `Accepted, with ${plural(warnings.length, "warning")}` : "The master accepts it";
    case "refused":
      return plural(problems.length, "problem");
    case "unknown":
      return `Not checked: ${reason}`;
  }
}
