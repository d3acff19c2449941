import {
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from "react";

import styles from "./Field.module.css";

interface Around {
  label: ReactNode;
  /** Shown under the control; tied to it for assistive technology. */
  error?: string | undefined;
  hint?: ReactNode;
  /** The label is read out but not drawn. */
  hideLabel?: boolean;
}

export function TextField({
  label,
  error,
  hint,
  hideLabel,
  ref,
  ...rest
}: Around & InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  const id = useId();
  return (
    <Frame id={id} {...{ label, error, hint, hideLabel }}>
      <input id={id} ref={ref} className={styles.control} {...described(id, error, hint)} {...rest} />
    </Frame>
  );
}

export function TextArea({
  label,
  error,
  hint,
  hideLabel,
  ...rest
}: Around & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const id = useId();
  return (
    <Frame id={id} {...{ label, error, hint, hideLabel }}>
      <textarea id={id} className={styles.control} {...described(id, error, hint)} {...rest} />
    </Frame>
  );
}

export interface Option {
  value: string;
  label: string;
  disabled?: boolean;
}

export function Select({
  label,
  error,
  hint,
  hideLabel,
  options,
  onValue,
  ...rest
}: Around &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, "onChange"> & {
    options: readonly (Option | string)[];
    onValue(value: string): void;
  }) {
  const id = useId();
  return (
    <Frame id={id} {...{ label, error, hint, hideLabel }}>
      <select
        id={id}
        className={styles.control}
        onChange={(event) => onValue(event.target.value)}
        {...described(id, error, hint)}
        {...rest}
      >
        {options.map((option) => {
          const { value, label: text, disabled } =
            typeof option === "string" ? { value: option, label: option, disabled: false } : option;
          return (
            <option key={value} value={value} disabled={disabled}>
              {text}
            </option>
          );
        })}
      </select>
    </Frame>
  );
}

export function Checkbox({
  label,
  checked,
  onValue,
  ...rest
}: {
  label: ReactNode;
  checked: boolean;
  onValue(checked: boolean): void;
} & Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "checked">) {
  return (
    <label className={styles.check}>
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onValue(event.target.checked)}
        {...rest}
      />
      <span>{label}</span>
    </label>
  );
}

/** One choice of a few, all visible. */
export function Segments<T extends string>({
  label,
  value,
  options,
  onValue,
}: {
  label: string;
  value: T;
  options: readonly { value: NoInfer<T>; label: string }[];
  onValue(value: NoInfer<T>): void;
}) {
  const name = useId();
  return (
    <div role="radiogroup" aria-label={label} className={styles.segments}>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            checked={value === option.value}
            onChange={() => onValue(option.value)}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </div>
  );
}

function Frame({
  id,
  label,
  error,
  hint,
  hideLabel,
  children,
}: Around & { id: string; children: ReactNode }) {
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={hideLabel ? "visually-hidden" : styles.label}>
        {label}
      </label>
      {children}
      {hint && (
        <div id={`${id}-hint`} className={styles.hint}>
          {hint}
        </div>
      )}
      {error && (
        <div id={`${id}-error`} className={styles.error}>
          {error}
        </div>
      )}
    </div>
  );
}

function described(id: string, error: string | undefined, hint: ReactNode) {
  const ids = [hint ? `${id}-hint` : "", error ? `${id}-error` : ""].filter(Boolean).join(" ");
  return {
    "aria-invalid": error ? true : undefined,
    "aria-describedby": ids || undefined,
  } as const;
}
