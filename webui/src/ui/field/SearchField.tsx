import { useCallback, useEffect, useRef, useState } from "react";

import styles from "./SearchField.module.css";

const PAUSE_MS = 180;

/** Free text that narrows a list; `/` focuses it. The owner gets the text after a short pause. */
export function SearchField({
  label,
  value,
  onValue,
  placeholder,
}: {
  label: string;
  value: string;
  onValue(text: string): void;
  placeholder?: string;
}) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // The address changed by other means (back, a link).
    if (value !== sent.current) {
      sent.current = value;
      setText(value);
    }
  }, [value]);
  const send = useCallback(() => {
    if (text === sent.current) return;
    sent.current = text;
    onValue(text);
  }, [onValue, text]);
  useEffect(() => {
    const timer = setTimeout(send, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [send]);
  return (
    <input
      type="search"
      data-query-bar=""
      className={styles.search}
      aria-label={label}
      placeholder={placeholder ?? label}
      value={text}
      onChange={(event) => setText(event.target.value)}
      // A link that is clicked within the pause leads away: the address changes before, not during it.
      onBlur={send}
    />
  );
}
