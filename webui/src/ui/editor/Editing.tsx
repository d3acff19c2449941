/** The editors themselves: the chunk that is loaded with the first of them. */
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { MergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { basicSetup, EditorView } from "codemirror";
import { useEffect, useRef } from "react";

import styles from "./Editor.module.css";
import { languageExtension, look, named, type Language } from "./extensions";
import { diagnostics, type Marker } from "./markers";

export interface EditingProps {
  label: string;
  value: string;
  language: Language;
  /** Without it the text is read-only. */
  onValue?: ((value: string) => void) | undefined;
  markers?: readonly Marker[] | undefined;
  wrap?: boolean | undefined;
  /** A line to show, from 1. */
  line?: number | undefined;
  /** A text to put in at the cursor, once for each object. */
  insert?: Insertion | undefined;
}

export interface Insertion {
  text: string;
}

const NO_MARKERS: readonly Marker[] = [];

export function Editing({ label, value, language, onValue, markers = NO_MARKERS, wrap, line, insert }: EditingProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const report = useRef(onValue);
  const first = useRef(value);
  useEffect(() => {
    report.current = onValue;
    first.current = value;
  });
  const readOnly = onValue === undefined;
  useEffect(() => {
    const made = new EditorView({
      parent: host.current as HTMLElement,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          basicSetup,
          shared(label, language, readOnly, wrap ?? false),
          readOnly ? [] : lintGutter(),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) report.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [label, language, readOnly, wrap]);
  useEffect(() => {
    const current = view.current;
    if (!current || current.state.doc.toString() === value) return;
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    const current = view.current;
    if (current) current.dispatch(setDiagnostics(current.state, diagnostics(current.state.doc, markers)));
  }, [markers, label, language, readOnly, wrap]);
  useEffect(() => {
    const current = view.current;
    if (!current || !line) return;
    const at = current.state.doc.line(Math.max(1, Math.min(current.state.doc.lines, line)));
    current.dispatch({ selection: { anchor: at.from }, effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
  }, [line, value]);
  useEffect(() => {
    const current = view.current;
    if (current && insert) insertBlock(current, insert.text);
  }, [insert]);
  return <div ref={host} className={styles.host} />;
}

/** Lines of their own at the cursor, with the cursor behind them. */
function insertBlock(view: EditorView, text: string): void {
  const { doc, selection } = view.state;
  const line = doc.lineAt(selection.main.head);
  const isBlank = line.text.trim() === "";
  const at = isBlank ? line.from : line.to;
  const block = `${isBlank ? "" : "\n\n"}${text}\n`;
  view.dispatch({
    changes: { from: at, to: isBlank ? line.to : at, insert: block },
    selection: { anchor: at + block.length },
    scrollIntoView: true,
  });
  view.focus();
}

export interface DiffingProps {
  label: string;
  before: string;
  after: string;
  language: Language;
  beforeLabel: string;
  afterLabel: string;
}

export function Diffing({ before, after, language, beforeLabel, afterLabel }: DiffingProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const side = (doc: string, name: string) => ({ doc, extensions: [basicSetup, shared(name, language, true, true)] });
    const made = new MergeView({
      parent: host.current as HTMLElement,
      a: side(before, beforeLabel),
      b: side(after, afterLabel),
      collapseUnchanged: { margin: 3, minSize: 8 },
      diffConfig: { timeout: 1000, scanLimit: 5000 },
    });
    return () => made.destroy();
  }, [before, after, language, beforeLabel, afterLabel]);
  return <div ref={host} className={styles.diff} />;
}

function shared(label: string, language: Language, readOnly: boolean, wrap: boolean): Extension {
  return [
    languageExtension(language),
    look(),
    named(label),
    wrap ? EditorView.lineWrapping : [],
    // The text stays focusable: it can be read, selected and searched by keyboard.
    EditorView.contentAttributes.of({ tabindex: "0" }),
    readOnly ? EditorState.readOnly.of(true) : [],
  ];
}
