/** The query as a form: the same tree as the text, in groups of at most three levels. */
import { useId, useMemo } from "react";

import { proposeNames, type KnownValues } from "@/data/query/complete";
import { findField, type Fields } from "@/data/query/fields";
import { group, MAX_LEVELS, type Conjunction, type Group, type Operator, type QueryNode, type Term } from "@/data/query/tree";

import { Button, IconButton } from "../button/Button";
import { Segments, Select, TextField } from "../field/Field";
import styles from "./Query.module.css";

const WORDS: Record<Operator, string> = {
  ":": "is / has",
  "=": "=",
  "!=": "≠",
  "<": "<",
  "<=": "≤",
  ">": ">",
  ">=": "≥",
  "~": "contains",
  "!~": "contains not",
};
const OF_TEXT: Operator[] = [":", "=", "!=", "~", "!~"];
const OF_NUMBERS: Operator[] = ["=", "!=", "<", "<=", ">", ">="];

interface Context {
  fields: Fields;
  known: KnownValues;
}

export function Builder({ root, fields, known, onRoot }: { root: Group; fields: Fields; known: KnownValues; onRoot(root: Group): void }) {
  return (
    <div className={styles.builder}>
      <GroupForm node={root} level={1} context={{ fields, known }} onNode={onRoot} />
    </div>
  );
}

function GroupForm({ node, level, context, onNode, onRemove }: { node: Group; level: number; context: Context; onNode(node: Group): void; onRemove?: () => void }) {
  const set = (children: QueryNode[]) => onNode({ ...node, children });
  const replace = (at: number, child: QueryNode) => set(node.children.with(at, child));
  const remove = (at: number) => set(node.children.filter((_, place) => place !== at));
  const term: Term = { kind: "term", not: false, field: "state", operator: ":", values: ["running"] };
  return (
    <div role="group" aria-label={`Group, level ${level}`} className={styles.group}>
      <div className="row">
        <Segments<Conjunction>
          label="Conditions that must hold"
          value={node.conjunction}
          options={[
            { value: "and", label: node.not ? "not all" : "all" },
            { value: "or", label: node.not ? "none" : "any" },
          ]}
          onValue={(conjunction) => onNode({ ...node, conjunction })}
        />
        <span className="hint grow">of these hold</span>
        {onRemove && <IconButton icon="close" label="Remove the group" small onClick={onRemove} />}
      </div>
      {node.children.map((child, at) =>
        child.kind === "group" ? (
          <GroupForm key={at} node={child} level={level + 1} context={context} onNode={(next) => replace(at, next)} onRemove={() => remove(at)} />
        ) : child.kind === "text" ? (
          <div key={at} className={styles.line}>
            <span className="hint">{child.not ? "without the words" : "with the words"}</span>
            <span />
            <TextField label="Words" hideLabel value={child.value} onChange={(event) => replace(at, { ...child, value: event.target.value || " " })} />
            <IconButton icon="close" label={`Remove ${child.value}`} small onClick={() => remove(at)} />
          </div>
        ) : (
          <TermForm key={at} term={child} context={context} onTerm={(next) => replace(at, next)} onRemove={() => remove(at)} />
        ),
      )}
      <div className="row">
        <Button small icon="plus" onClick={() => set([...node.children, term])}>
          Condition
        </Button>
        <Button
          small
          icon="plus"
          disabledReason={level >= MAX_LEVELS ? `Groups have at most ${MAX_LEVELS} levels.` : undefined}
          onClick={() => set([...node.children, group(node.conjunction === "and" ? "or" : "and", [term, term])])}
        >
          Group
        </Button>
      </div>
    </div>
  );
}

function TermForm({ term, context, onTerm, onRemove }: { term: Term; context: Context; onTerm(term: Term): void; onRemove(): void }) {
  const names = useId();
  const field = findField(term.field, context.fields);
  const near = useMemo(() => proposeNames(term.field, context.fields), [term.field, context.fields]);
  const operators = field && field.type !== "text" ? OF_NUMBERS : OF_TEXT;
  const shown = operators.includes(term.operator) ? operators : [term.operator, ...operators];
  return (
    <div className={styles.line}>
      <datalist id={names}>
        {near.map((each) => (
          <option key={each.label} value={each.label}>
            {each.hint}
          </option>
        ))}
      </datalist>
      <TextField
        label="Column"
        hideLabel
        list={names}
        value={term.field}
        error={field || term.field === "has" ? undefined : "No such column"}
        onChange={(event) => onTerm({ ...term, field: event.target.value || "state" })}
      />
      <Select
        label="Comparison"
        hideLabel
        value={`${term.not}${term.operator}`}
        options={[...shown.map((each) => ({ value: `false${each}`, label: WORDS[each] })), ...shown.map((each) => ({ value: `true${each}`, label: `not ${WORDS[each]}` }))]}
        onValue={(value) => onTerm({ ...term, not: value.startsWith("true"), operator: value.replace(/^(true|false)/, "") as Operator })}
      />
      <TextField label="Value" hideLabel value={term.values.join(",")} onChange={(event) => onTerm({ ...term, values: event.target.value.split(",") })} />
      <IconButton icon="close" label={`Remove the condition on ${term.field}`} small onClick={onRemove} />
    </div>
  );
}
