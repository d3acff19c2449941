import type { ReactNode } from "react";

import { Button } from "../button/Button";
import styles from "./ConflictDialog.module.css";
import { Dialog } from "./Dialog";

/** Two persons changed the same text: one is chosen, or both are merged by hand. Nothing is lost by itself. */
export function ConflictDialog({
  title,
  description,
  onEdit,
  onTheirs,
  onMine,
  children,
}: {
  title: string;
  description: string;
  /** Back to what was typed. */
  onEdit(): void;
  onTheirs(): void;
  onMine(): void;
  /** Both texts. */
  children: ReactNode;
}) {
  return (
    <Dialog
      open
      width={960}
      onClose={onEdit}
      title={title}
      description={description}
      footer={
        <>
          <Button onClick={onEdit}>Edit on</Button>
          <Button onClick={onTheirs}>Take theirs</Button>
          <Button look="primary" onClick={onMine}>
            Save mine
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}

/** Two short texts beside each other; `name` tells several pairs apart. */
export function BothTexts({ name, mine, theirs }: { name?: string; mine: string | undefined; theirs: string | undefined }) {
  const suffix = name ? `: ${name}` : "";
  return (
    <div className={styles.sides}>
      <Side title={`Mine${suffix}`} text={mine} />
      <Side title={`Theirs${suffix}`} text={theirs} />
    </div>
  );
}

function Side({ title, text }: { title: string; text: string | undefined }) {
  return (
    <section>
      <h3>{title}</h3>
      <pre tabIndex={0} aria-label={title}>
        {text === undefined ? "(removed)" : text || "(empty)"}
      </pre>
    </section>
  );
}
