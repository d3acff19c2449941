/** Fields that read from and write into the text of a configuration. */
import { useState, type ReactNode } from "react";

import { textAt, type Path } from "@/data/configs/draft";
import { problemAt } from "@/data/configs/problems";
import { Select, TextField, type Option } from "@/ui/field/Field";

import type { Editing } from "./editing";

/**
 * The text of a field while it is edited. The typed text stays unchanged until the field is left: the
 * form of a number in the text may differ.
 */
export function useTyping(stored: string, onValue: (entry: string) => void) {
  const [entry, setEntry] = useState<string>();
  return {
    value: entry ?? stored,
    onChange: (event: { target: { value: string } }) => {
      setEntry(event.target.value);
      onValue(event.target.value);
    },
    onBlur: () => setEntry(undefined),
  };
}

interface Props {
  editing: Editing;
  path: Path;
  label: string;
  hint?: ReactNode;
  placeholder?: string;
  /** A problem that the form knows before the master answers. */
  error?: string | undefined;
}

/** Words: always stored as text. */
export function WordField({ editing, path, label, hint, placeholder, error }: Props) {
  const typing = useTyping(textAt(editing.draft, path), (entry) => editing.set(path, entry || undefined));
  return (
    <TextField
      label={label}
      hint={hint}
      placeholder={placeholder}
      error={error ?? problemAt(editing.problems, path)}
      autoComplete="off"
      {...typing}
    />
  );
}

/** A number, or whatever is typed: the master says what it takes. */
export function ValueField({ editing, path, label, hint, placeholder, error }: Props) {
  const typing = useTyping(textAt(editing.draft, path), (entry) => editing.type(path, entry));
  return (
    <TextField
      label={label}
      hint={hint}
      placeholder={placeholder}
      error={error ?? problemAt(editing.problems, path)}
      inputMode="decimal"
      autoComplete="off"
      {...typing}
    />
  );
}

/** One of a few words; a word of the text that is none of them is offered, too. */
export function ChoiceField({
  editing,
  path,
  label,
  hint,
  error,
  options,
  onValue,
}: Props & { options: readonly Option[]; onValue?: (value: string) => void }) {
  const value = textAt(editing.draft, path);
  const known = options.some((each) => each.value === value);
  return (
    <Select
      label={label}
      hint={hint}
      value={value}
      error={error ?? problemAt(editing.problems, path)}
      onValue={(next) => (onValue ? onValue(next) : editing.set(path, next || undefined))}
      options={known ? options : [{ value, label: value || "Choose …" }, ...options]}
    />
  );
}
