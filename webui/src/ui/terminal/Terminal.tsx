/**
 * A terminal: the screen, what it is connected to, and the keys that leave it.
 *
 *     <Terminal label="Terminal of my shell" status="Connected" onReady={...} onInput={...} ... />
 */
import { useId, useRef, useState, type ReactNode } from "react";

import { Button } from "../button/Button";
import { Checkbox } from "../field/Field";
import { toast } from "../feedback/toast";
import { later } from "../later";
import log from "../log/Log.module.css";
import { copyText } from "../text/Copy";
import { KEYS_HINT } from "./keys";
import type { ScreenHandle, ScreenProps } from "./Screen";
import styles from "./Terminal.module.css";

const Screen = later(async () => ({ default: (await import("./Screen")).Screen }), {
  fallback: <div className="grow" />,
});

interface TerminalProps extends Pick<ScreenProps, "label" | "onReady" | "onInput" | "onBinary" | "onSize"> {
  /** One sentence on the connection; it is read aloud when it changes. */
  status: ReactNode;
  actions?: ReactNode;
}

export function Terminal({ status, actions, onReady, ...screen }: TerminalProps) {
  const [isReadAloud, setReadAloud] = useState(false);
  const handle = useRef<ScreenHandle>(undefined);
  const button = useRef<HTMLButtonElement>(null);
  const hint = useId();
  const copy = async () => {
    const text = handle.current?.text() ?? "";
    if (text) await copyText(text);
    toast.info(text ? "Copied." : "The terminal is empty: nothing was copied.");
    handle.current?.focus();
  };
  return (
    <section className={`${log["viewer"]} ${styles.terminal}`} aria-label={screen.label}>
      <div className={log["tools"]}>
        <span className="grow" role="status">
          {status}
        </span>
        {actions}
        <Button ref={button} small icon="copy" onClick={() => void copy()}>
          Copy
        </Button>
        <Checkbox label="Screen reader" checked={isReadAloud} onValue={setReadAloud} />
      </div>
      <Screen
        {...screen}
        describedBy={hint}
        isReadAloud={isReadAloud}
        onReady={(made) => {
          handle.current = made;
          onReady(made);
        }}
        onCopy={() => void copy()}
        onLeave={() => button.current?.focus()}
      />
      <p id={hint} className="hint" style={{ padding: "2px 8px" }}>
        {KEYS_HINT}
      </p>
    </section>
  );
}
