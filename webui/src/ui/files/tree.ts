/** Rows of a file tree, as the keyboard and the screen reader need them. */

export interface FileNode {
  path: string;
  name: string;
  isDir: boolean;
  /** Bytes; the wire has text. */
  size?: number | string;
  children?: readonly FileNode[];
}

export interface TreeRow {
  node: FileNode;
  level: number;
  /** From 1, among its siblings. */
  position: number;
  siblings: number;
  parent: string | undefined;
}

/** The visible rows: directories first, names in the order of their numbers. */
export function treeRows(nodes: readonly FileNode[], open: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (list: readonly FileNode[], level: number, parent: string | undefined) => {
    sorted(list).forEach((node, i) => {
      rows.push({ node, level, position: i + 1, siblings: list.length, parent });
      if (node.isDir && open.has(node.path)) add(node.children ?? [], level + 1, node.path);
    });
  };
  add(nodes, 1, undefined);
  return rows;
}

const names = new Intl.Collator("en", { numeric: true });

function sorted(nodes: readonly FileNode[]): FileNode[] {
  return [...nodes].sort((a, b) => Number(b.isDir) - Number(a.isDir) || names.compare(a.name, b.name));
}

/** The file that opens first: `wanted`, else the only one, else the first of the top level. */
export function firstFile(nodes: readonly FileNode[], wanted: string | undefined): FileNode | undefined {
  const flat = flatten(nodes);
  return flat.find((node) => node.path === wanted) ?? sorted(nodes).find((node) => !node.isDir) ?? flat[0];
}

function flatten(nodes: readonly FileNode[]): FileNode[] {
  return nodes.flatMap((node) => (node.isDir ? flatten(node.children ?? []) : [node]));
}

export type TreeAct = { move: string } | { toggle: string } | { open: string };

/** What a key does in a tree (the pattern of ARIA); undefined when it does nothing. */
export function treeKey(key: string, rows: readonly TreeRow[], current: string, open: ReadonlySet<string>): TreeAct | undefined {
  const at = rows.findIndex((row) => row.node.path === current);
  const row = rows[at];
  if (!row) return undefined;
  const to = (index: number): TreeAct | undefined => {
    const next = rows[index];
    return next && { move: next.node.path };
  };
  const { node } = row;
  const isOpen = node.isDir && open.has(node.path);
  if (key === "ArrowDown") return to(at + 1);
  if (key === "ArrowUp") return to(at - 1);
  if (key === "Home") return to(0);
  if (key === "End") return to(rows.length - 1);
  if (key === "ArrowRight" && node.isDir) return isOpen ? to(at + 1) : { toggle: node.path };
  if (key === "ArrowLeft" && isOpen) return { toggle: node.path };
  if (key === "ArrowLeft" && row.parent !== undefined) return { move: row.parent };
  if (key === "Enter" || key === " ") return node.isDir ? { toggle: node.path } : { open: node.path };
  return undefined;
}
