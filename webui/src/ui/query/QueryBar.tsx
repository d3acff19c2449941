/**
 * The query bar of a list: text with completion, reasons for what is refused, and the builder.
 *
 * `value` is the query in force; a text with problems is not passed on.
 */
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from "react";

import { compileQuery } from "@/data/query/compile";
import { complete, type KnownValues, type Proposal } from "@/data/query/complete";
import type { Fields } from "@/data/query/fields";
import { parseQuery } from "@/data/query/parse";
import { printQuery } from "@/data/query/print";
import type { Surroundings } from "@/data/query/values";

import { Button, IconButton } from "../button/Button";
import { Icon } from "../icons/Icon";
import { later } from "../later";
import { Popover } from "../overlay/Popover";
import styles from "./Query.module.css";

const Builder = later(async () => ({ default: (await import("./Builder")).Builder }));
const PAUSE_MS = 350;

export function QueryBar({
  value,
  onValue,
  fields,
  known = {},
  around,
  placeholder = "Find: words, or state:error hp.lr>=1e-4 tag:base",
}: {
  value: string;
  onValue(query: string): void;
  fields: Fields;
  known?: KnownValues;
  around: Surroundings;
  placeholder?: string;
}) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const [cursor, setCursor] = useState(0);
  const [chosen, setChosen] = useState(-1);
  const [isOpen, setOpen] = useState(false);
  const sent = useRef(value);

  // Back, a view or a link changed the query from outside.
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);

  const problems = useMemo(() => compileQuery(text, fields, around).problems, [text, fields, around]);
  const send = (query: string) => {
    const wanted = query.trim();
    if (compileQuery(wanted, fields, around).problems.length > 0 || wanted === value) return;
    sent.current = wanted;
    onValue(wanted);
  };
  const latest = useRef(send);
  latest.current = send;
  useEffect(() => {
    const timer = setTimeout(() => latest.current(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);

  const completion = useMemo(
    () => (isOpen ? complete(text, cursor, fields, known) : undefined),
    [isOpen, text, cursor, fields, known],
  );
  const proposals = completion?.proposals ?? [];
  const take = (proposal: Proposal) => {
    if (!completion) return;
    const next = text.slice(0, completion.from) + proposal.text + text.slice(completion.to);
    const at = completion.from + proposal.text.length;
    setText(next);
    setCursor(at);
    setChosen(-1);
    requestAnimationFrame(() => input.current?.setSelectionRange(at, at));
  };
  const onKey = (event: KeyboardEvent) => {
    const move = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (move && proposals.length > 0) {
      setOpen(true);
      setChosen((old) => (old + move + proposals.length + (old < 0 && move < 0 ? 1 : 0)) % proposals.length);
    } else if ((event.key === "Enter" || event.key === "Tab") && proposals[chosen]) take(proposals[chosen]);
    else if (event.key === "Enter") {
      setOpen(false);
      send(text);
    } else if (event.key === "Escape" && isOpen) setOpen(false);
    else if (event.key === "Escape") input.current?.blur();
    else {
      if (event.key === "ArrowDown") setOpen(true);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const isWrong = problems.length > 0 && !isOpen;
  return (
    <div className={styles.wrap}>
      <div className={styles.bar} data-wrong={isWrong}>
        <Icon name="search" />
        <input
          ref={input}
          className={styles.input}
          data-query-bar
          role="combobox"
          aria-label="Query"
          aria-expanded={proposals.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={proposals[chosen] ? `${id}-${chosen}` : undefined}
          aria-invalid={isWrong || undefined}
          aria-describedby={isWrong ? `${id}-problems` : undefined}
          spellCheck={false}
          autoComplete="off"
          placeholder={placeholder}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setCursor(event.target.selectionStart ?? event.target.value.length);
            setOpen(true);
            setChosen(-1);
          }}
          onSelect={(event) => setCursor(event.currentTarget.selectionStart ?? 0)}
          onKeyDown={onKey}
          onBlur={() => setOpen(false)}
        />
        {text && (
          <IconButton
            icon="close"
            label="Clear the query"
            small
            onClick={() => {
              setText("");
              send("");
              input.current?.focus();
            }}
          />
        )}
        <Popover
          label="Filter"
          align="end"
          trigger={
            <Button small look="quiet" icon="filter">
              Filter
            </Button>
          }
        >
          <Builder
            root={parseQuery(text).root}
            fields={fields}
            known={known}
            onRoot={(root) => setText(printQuery(root))}
          />
        </Popover>
      </div>
      <ul id={`${id}-list`} role="listbox" aria-label="Proposals" className={styles.list} hidden={proposals.length === 0}>
        {proposals.map((each, at) => (
          <li
            key={each.label}
            id={`${id}-${at}`}
            role="option"
            aria-selected={at === chosen}
            className={styles.option}
            // The field keeps the focus.
            onMouseDown={(event) => {
              event.preventDefault();
              take(each);
            }}
          >
            <span className="truncate">{each.label}</span>
            {each.hint !== each.label && <span className={styles.hint}>{each.hint}</span>}
          </li>
        ))}
      </ul>
      {isWrong && (
        <div id={`${id}-problems`} role="status" className={styles.problems}>
          {problems.slice(0, 4).map((each, at) => (
            <div key={at}>
              {each.term.length < 60 && <code>{each.term}</code>} {each.reason}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
