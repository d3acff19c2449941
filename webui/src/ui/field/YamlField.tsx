import { useId, useRef } from "react";

import { lineOf, parseObject } from "@/data/forms/yaml";

import styles from "./YamlField.module.css";

/**
 * A text area for YAML with line numbers. An error of the syntax shows while one types; `error` is the
 * refusal of the master, shown with the line of the field that it names.
 */
export function YamlField({
  label,
  value,
  onValue,
  error,
  hint,
  rows = 10,
  readOnly,
  hideLabel,
}: {
  label: string;
  value: string;
  onValue?(text: string): void;
  error?: string | undefined;
  hint?: string;
  rows?: number;
  readOnly?: boolean;
  hideLabel?: boolean;
}) {
  const id = useId();
  const gutter = useRef<HTMLPreElement>(null);
  const parsed = parseObject(value);
  const broken = "error" in parsed ? parsed.error : undefined;
  const line = broken?.line ?? (error ? lineOf(value, error) : undefined);
  const message = broken?.message ?? error;
  const count = value.split("\n").length;
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={hideLabel ? "visually-hidden" : styles.label}>
        {label}
      </label>
      <div className={styles.box} data-invalid={Boolean(message)}>
        <pre ref={gutter} className={styles.gutter} aria-hidden="true">
          {Array.from({ length: count }, (_, index) => (
            <span key={index} data-marked={index + 1 === line}>
              {index + 1}
            </span>
          ))}
        </pre>
        <textarea
          id={id}
          className={styles.text}
          rows={rows}
          value={value}
          readOnly={readOnly}
          spellCheck={false}
          wrap="off"
          aria-invalid={message ? true : undefined}
          aria-describedby={[hint && `${id}-hint`, message && `${id}-error`].filter(Boolean).join(" ") || undefined}
          onChange={(event) => onValue?.(event.target.value)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      {hint && (
        <div id={`${id}-hint`} className="hint">
          {hint}
        </div>
      )}
      {message && (
        <div id={`${id}-error`} className={styles.error} role="status">
          {line ? `Line ${line}: ` : ""}
          {message}
        </div>
      )}
    </div>
  );
}
