import { useEffect, useRef } from "react";

import styles from "./Markdown.module.css";

/**
 * Markdown of users. Its renderer is loaded with the first text.
 *
 * `below` moves headings down by so many levels, where the page has headings above the text.
 */
export function Markdown({ text, label, below = 0 }: { text: string; label?: string; below?: number }) {
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let isCurrent = true;
    void import("./render").then(({ renderMarkdown }) => {
      if (isCurrent && body.current) body.current.innerHTML = renderMarkdown(text, below);
    });
    return () => {
      isCurrent = false;
    };
  }, [text, below]);
  return <div ref={body} className={styles.markdown} {...(label ? { role: "region", "aria-label": label } : {})} />;
}
