import { BASE_PATH } from "@/api/client";
import type { InteractiveTask } from "@/data/tasks";
import { Button } from "@/ui/button/Button";
import { Dialog } from "@/ui/overlay/Dialog";
import { CopyButton } from "@/ui/text/Copy";

import { connectSteps } from "./connect";
import styles from "./Tasks.module.css";

/** The commands that reach a task from a terminal, each to copy. */
export function ConnectDialog({ task, onClose }: { task: Pick<InteractiveTask, "kind" | "id" | "name">; onClose(): void }) {
  const steps = connectSteps(task, location.origin + BASE_PATH);
  return (
    <Dialog
      open
      width={600}
      onClose={onClose}
      title={`Connect to ${task.kind} ${task.name}`}
      description="These commands work where the command line det is installed and signed in."
      footer={<Button onClick={onClose}>Close</Button>}
    >
      <ol className={styles.steps}>
        {steps.map((step) => (
          <li key={step.command}>
            <p>{step.what}:</p>
            <div className={styles.command}>
              <code>{step.command}</code>
              <CopyButton text={step.command} label={`Copy: ${step.what}`} />
            </div>
          </li>
        ))}
      </ol>
    </Dialog>
  );
}
