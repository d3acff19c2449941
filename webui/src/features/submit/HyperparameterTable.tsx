import { useId, useState, type FormEvent } from "react";

import { flow, typed, valueAt, type Path } from "@/data/configs/draft";
import { constantPath, converted, drawnRange, HP_TYPES, isMapping, rowsOf, type HpRow, type HpType } from "@/data/configs/hyperparameters";
import { problemAt } from "@/data/configs/problems";
import { formatNumber, plural } from "@/data/format/numbers";
import { Button, IconButton } from "@/ui/button/Button";
import { Select, TextField } from "@/ui/field/Field";

import type { Editing } from "./editing";
import { useTyping } from "./fields";
import styles from "./Submit.module.css";

const MAX_ROWS = 200;

/** One row each hyperparameter: its type, and its value, its choices or its range. */
export function HyperparameterTable({ editing }: { editing: Editing }) {
  const rows = rowsOf(valueAt(editing.draft, ["hyperparameters"]));
  const isGrid = valueAt(editing.draft, ["searcher", "name"]) === "grid";
  return (
    <fieldset className={styles.group}>
      <legend>Hyperparameters</legend>
      {rows.length > 0 && (
        <table className={styles.rows} aria-label="Hyperparameters">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              <th scope="col">Values</th>
              <th scope="col">
                <span className="visually-hidden">Remove</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MAX_ROWS).map((row) => (
              <Row key={row.name} row={row} editing={editing} isGrid={isGrid} />
            ))}
          </tbody>
        </table>
      )}
      {rows.length > MAX_ROWS && (
        <p className="hint">{plural(rows.length - MAX_ROWS, "more hyperparameter")} are in the YAML.</p>
      )}
      <AddRow editing={editing} rows={rows} />
    </fieldset>
  );
}

/** Paths whose problems the rows show. */
export function shownHyperparameters(editing: Editing): Path[] {
  const rows = rowsOf(valueAt(editing.draft, ["hyperparameters"])).slice(0, MAX_ROWS);
  return rows.map((row) => ["hyperparameters", ...row.path]);
}

function Row({ row, editing, isGrid }: { row: HpRow; editing: Editing; isGrid: boolean }) {
  const at: Path = ["hyperparameters", ...row.path];
  const problem = problemAt(editing.problems, at);
  const errorId = useId();
  return (
    <tr>
      <th scope="row" className="mono">
        {row.name}
      </th>
      <td>
        <div className={styles.type}>
          <Select
            label={`Type of ${row.name}`}
            hideLabel
            value={row.type}
            options={HP_TYPES}
            onValue={(type) => editing.set(at, converted(row, type as HpType))}
          />
        </div>
      </td>
      <td>
        <div className={styles.values}>
          <Values row={row} editing={editing} at={at} isGrid={isGrid} errorId={problem ? errorId : undefined} />
          {problem && (
            <span id={errorId} className={styles.error}>
              {problem}
            </span>
          )}
        </div>
      </td>
      <td>
        <IconButton icon="trash" label={`Remove ${row.name}`} onClick={() => editing.set(at, undefined)} />
      </td>
    </tr>
  );
}

interface ValuesProps {
  row: HpRow;
  editing: Editing;
  at: Path;
  isGrid: boolean;
  errorId: string | undefined;
}

function Values({ row, editing, at, isGrid, errorId }: ValuesProps) {
  const spec = isMapping(row.spec) ? row.spec : {};
  const field = (key: string, word: string, label: string) => (
    <Mini
      key={key}
      word={word}
      label={`${label} of ${row.name}`}
      stored={flow(spec[key])}
      errorId={errorId}
      onValue={(entry) => editing.type([...at, key], entry)}
    />
  );
  switch (row.type) {
    case "const": {
      const path: Path = ["hyperparameters", ...constantPath(row)];
      return (
        <Mini
          word=""
          label={`Value of ${row.name}`}
          isWide
          stored={flow(valueAt(editing.draft, path))}
          errorId={errorId}
          // A constant without a value stays a row: it is null.
          onValue={(entry) => (entry.trim() ? editing.type(path, entry) : editing.set(path, null))}
        />
      );
    }
    case "categorical":
      return (
        <Mini
          word=""
          label={`Choices of ${row.name}, separated by commas`}
          isWide
          stored={flow(spec["vals"]).replace(/^\[(.*)\]$/s, "$1")}
          errorId={errorId}
          onValue={(entry) => editing.set([...at, "vals"], listOf(entry))}
        />
      );
    default:
      return (
        <>
          {row.type === "log" && field("base", "base", "Base")}
          {field("minval", row.type === "log" ? "from exponent" : "from", "Lowest value")}
          {field("maxval", row.type === "log" ? "to exponent" : "to", "Highest value")}
          {(isGrid || spec["count"] !== undefined) && field("count", "points", "Number of points")}
          <Range row={row} />
        </>
      );
  }
}

/** The values of a range where they lie: those of a logarithmic one are close to each other at its low end. */
function Range({ row }: { row: HpRow }) {
  const range = drawnRange(row);
  if (!range) return null;
  return (
    <span className="hint number row" style={{ gap: 6 }}>
      {formatNumber(range.low)}
      <svg width="112" height="14" aria-hidden="true">
        <path d="M2 7H110" stroke="currentColor" />
        <path d={range.points.map((at) => `M${2 + 108 * at} 2v10`).join("")} stroke="currentColor" />
      </svg>
      <span className="visually-hidden">to</span>
      {formatNumber(range.high)}
    </span>
  );
}

/** `a, b, 3` as a list; brackets inside stay together. */
export function listOf(entry: string): unknown[] {
  const list = typed(`[${entry}]`);
  return Array.isArray(list) ? list : entry.split(",").map((each) => typed(each.trim()));
}

/** A short field with its word before it. */
function Mini({
  word,
  label,
  stored,
  isWide,
  errorId,
  onValue,
}: {
  word: string;
  label: string;
  stored: string;
  isWide?: boolean;
  errorId: string | undefined;
  onValue(entry: string): void;
}) {
  const typing = useTyping(stored, onValue);
  return (
    <label className={styles.mini} data-wide={isWide}>
      {word && <span aria-hidden="true">{word}</span>}
      <input
        aria-label={label}
        aria-invalid={errorId ? true : undefined}
        aria-describedby={errorId}
        autoComplete="off"
        spellCheck={false}
        {...typing}
      />
    </label>
  );
}

function AddRow({ editing, rows }: { editing: Editing; rows: readonly HpRow[] }) {
  const [name, setName] = useState("");
  const word = name.trim();
  const problem = addProblem(word, rows);
  const add = (event?: FormEvent) => {
    event?.preventDefault();
    if (!word || problem) return;
    editing.set(["hyperparameters", ...word.split(".")], 0);
    setName("");
  };
  return (
    <div className={styles.add}>
      <TextField
        label="Name of a new hyperparameter"
        placeholder="lr, or optimizer.lr in a group"
        value={name}
        error={problem}
        autoComplete="off"
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && add(event)}
      />
      <Button icon="plus" disabledReason={word ? problem : "Type a name first."} onClick={() => add()}>
        Add
      </Button>
    </div>
  );
}

/** Why a name cannot be added; an empty one has no problem yet. */
export function addProblem(name: string, rows: readonly Pick<HpRow, "name">[]): string | undefined {
  if (!name) return undefined;
  const parts = name.split(".");
  if (parts.some((part) => !part.trim())) return "A name has no empty part between dots.";
  if (parts.includes("type")) return "`type` is a word of the configuration: choose another name.";
  for (const row of rows)
    if (row.name === name || row.name.startsWith(`${name}.`) || name.startsWith(`${row.name}.`))
      return `${row.name} is there already.`;
  return undefined;
}
