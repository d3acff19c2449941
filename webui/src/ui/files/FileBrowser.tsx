/**
 * A tree of files beside the text of one.
 *
 *     <FileBrowser label="Code" nodes={tree} load={(path) => readText(path)} path={path} onPath={setPath} />
 *
 * `load` gives the text of a file; it may refuse one that is no text by throwing.
 */
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { formatBytes } from "@/data/format/numbers";

import { CodeViewer } from "../editor/Editor";
import { Empty, ErrorNotice, Loading } from "../feedback/Feedback";
import { Icon } from "../icons/Icon";
import styles from "./Files.module.css";
import { firstFile, treeKey, treeRows, type FileNode } from "./tree";

export interface FileBrowserProps {
  label: string;
  nodes: readonly FileNode[];
  load(path: string): Promise<string>;
  path?: string | undefined;
  onPath?(path: string): void;
  height?: number;
  /** Acts on the open file, such as a download. */
  actions?: (path: string) => ReactNode;
}

export function FileBrowser({ label, nodes, load, path, onPath, height = 560, actions }: FileBrowserProps) {
  const [own, setOwn] = useState<string>();
  const file = firstFile(nodes, path ?? own);
  const [text, setText] = useState<{ path: string; value?: string; error?: unknown }>();
  const [attempt, setAttempt] = useState(0);
  const wanted = file?.path;
  useEffect(() => {
    if (wanted === undefined) return;
    let gone = false;
    setText({ path: wanted });
    load(wanted).then(
      (value) => !gone && setText({ path: wanted, value }),
      (error: unknown) => !gone && setText({ path: wanted, error }),
    );
    return () => {
      gone = true;
    };
  }, [wanted, load, attempt]);
  if (nodes.length === 0) return <Empty title="No files" />;
  return (
    <div className={styles.browser} style={{ height }}>
      <FileTree
        label={label}
        nodes={nodes}
        current={wanted}
        onOpen={(next) => {
          setOwn(next);
          onPath?.(next);
        }}
      />
      <div className={styles.text}>
        {file && (
          <div className={styles.head}>
            <span className="mono truncate grow" title={file.path}>
              {file.path}
            </span>
            {file.size !== undefined && <span className="hint number">{formatBytes(file.size)}</span>}
            {actions?.(file.path)}
          </div>
        )}
        {text?.error ? (
          <ErrorNotice error={text.error} onRetry={() => setAttempt(attempt + 1)} />
        ) : text?.value === undefined ? (
          <Loading what="the file" />
        ) : (
          <div className={styles.viewer}>
            <CodeViewer label={text.path} value={text.value} path={text.path} height="fill" />
          </div>
        )}
      </div>
    </div>
  );
}

export function FileTree({
  label,
  nodes,
  current,
  onOpen,
}: {
  label: string;
  nodes: readonly FileNode[];
  current: string | undefined;
  onOpen(path: string): void;
}) {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => parentsOf(current));
  const [focused, setFocused] = useState(current);
  const rows = useMemo(() => treeRows(nodes, open), [nodes, open]);
  const list = useRef<HTMLUListElement>(null);
  const toggle = (path: string) =>
    setOpen((old) => {
      const next = new Set(old);
      if (!next.delete(path)) next.add(path);
      return next;
    });
  const active = rows.some((row) => row.node.path === focused) ? focused : rows[0]?.node.path;
  const moveTo = (path: string) => {
    setFocused(path);
    list.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`)?.focus();
  };
  return (
    <ul
      ref={list}
      role="tree"
      aria-label={label}
      className={styles.tree}
      onKeyDown={(event) => {
        const act = active === undefined ? undefined : treeKey(event.key, rows, active, open);
        if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        if ("move" in act) moveTo(act.move);
        else if ("toggle" in act) toggle(act.toggle);
        else onOpen(act.open);
      }}
    >
      {rows.map(({ node, level, position, siblings }) => (
        <li
          key={node.path}
          role="treeitem"
          data-path={node.path}
          aria-level={level}
          aria-posinset={position}
          aria-setsize={siblings}
          aria-expanded={node.isDir ? open.has(node.path) : undefined}
          aria-selected={node.path === current}
          tabIndex={node.path === active ? 0 : -1}
          className={styles.item}
          style={{ paddingLeft: 8 + (level - 1) * 16 }}
          title={node.path}
          onFocus={() => setFocused(node.path)}
          onClick={() => (node.isDir ? toggle(node.path) : onOpen(node.path))}
        >
          {node.isDir ? <Icon name={open.has(node.path) ? "down" : "chevron"} size={12} /> : <span className={styles.space} />}
          <Icon name={node.isDir ? "folder" : "log"} size={14} />
          <span className="truncate grow">{node.name}</span>
          {!node.isDir && node.size !== undefined && <span className={`number ${styles.size}`}>{formatBytes(node.size)}</span>}
        </li>
      ))}
    </ul>
  );
}

function parentsOf(path: string | undefined): Set<string> {
  const parts = (path ?? "").split("/").slice(0, -1);
  return new Set(parts.map((_, i) => parts.slice(0, i + 1).join("/")));
}
