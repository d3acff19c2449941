/**
 * Editors and viewers of text. Their code is loaded with the first one.
 *
 *     <YamlEditor label="Configuration" value={text} onValue={setText} markers={[{ line: 3, message }]} />
 *     <CodeViewer label="train.py" value={text} path="train.py" />
 *     <DiffView label="Configuration" before={a} after={b} beforeLabel="run 1" afterLabel="run 2" />
 *
 * In an editor Tab leaves it, as everywhere. Ctrl F searches.
 */
import type { CSSProperties, ReactNode } from "react";

import { later } from "../later";
import type { Insertion } from "./Editing";
import styles from "./Editor.module.css";
import type { Marker } from "./markers";

const WAITING = { fallback: <div className={styles.loading} role="status" aria-label="Loading the editor" /> };
const Editing = later(async () => ({ default: (await import("./Editing")).Editing }), WAITING);
const Diffing = later(async () => ({ default: (await import("./Editing")).Diffing }), WAITING);

interface Box {
  label: string;
  /** CSS height; `fill` takes the parent's. */
  height?: number | "fill";
}

export function YamlEditor({
  label,
  height = 320,
  value,
  onValue,
  markers,
  language = "yaml",
}: Box & {
  value: string;
  onValue(value: string): void;
  markers?: readonly Marker[];
  language?: "yaml" | "json" | "text";
}) {
  return (
    <Frame height={height}>
      <Editing {...{ label, value, onValue, markers, language }} />
      {markers && markers.length > 0 && (
        <div className={styles.errors} role="alert" tabIndex={0}>
          {markers.map((marker, i) => (
            <p key={i}>
              Line {marker.line}: {marker.message}
            </p>
          ))}
        </div>
      )}
    </Frame>
  );
}

/** Markdown, with wrapped lines. `insert` puts a text in at the cursor, once for each object. */
export function MarkdownEditor({
  label,
  height = 420,
  value,
  onValue,
  insert,
}: Box & { value: string; onValue(value: string): void; insert?: Insertion | undefined }) {
  return (
    <Frame height={height}>
      <Editing {...{ label, value, onValue, insert }} language="markdown" wrap />
    </Frame>
  );
}

/** Text that cannot be changed; `path` decides the language. */
export function CodeViewer({
  label,
  height = 420,
  value,
  path = "",
  wrap,
  line,
}: Box & { value: string; path?: string; wrap?: boolean; line?: number }) {
  return (
    <Frame height={height}>
      <Editing {...{ label, value, wrap, line }} language={languageOfPath(path)} />
    </Frame>
  );
}

export function DiffView({
  label,
  height = 420,
  before,
  after,
  beforeLabel,
  afterLabel,
  path = "x.yaml",
}: Box & { before: string; after: string; beforeLabel: string; afterLabel: string; path?: string }) {
  return (
    <section aria-label={label}>
      <div className={styles.sides}>
        <span>{beforeLabel}</span>
        <span>{afterLabel}</span>
      </div>
      {before === after ? (
        <p className={styles.same}>Both are the same.</p>
      ) : (
        <Frame height={height} scrolls>
          <Diffing {...{ label, before, after, beforeLabel, afterLabel }} language={languageOfPath(path)} />
        </Frame>
      )}
    </section>
  );
}

function Frame({ height, scrolls, children }: { height: number | "fill"; scrolls?: boolean; children: ReactNode }) {
  const style: CSSProperties = { height: height === "fill" ? "100%" : height };
  return (
    <div className={styles.frame} data-scrolls={scrolls} style={style}>
      {children}
    </div>
  );
}

/** The language by a file's name, decided here so that the editors' chunk is not needed for it. */
export function languageOfPath(path: string): "yaml" | "python" | "json" | "text" {
  const name = path.toLowerCase();
  if (/\.ya?ml$/.test(name)) return "yaml";
  if (/\.pyi?$/.test(name)) return "python";
  return /\.(json|ipynb)$/.test(name) ? "json" : "text";
}
