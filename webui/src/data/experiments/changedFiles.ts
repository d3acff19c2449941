/** The submitted files of two experiments: which of them differ, with both texts. */
import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

import { fileBytes } from "./code";

export interface ChangedFile {
  path: string;
  change: "added" | "removed" | "changed";
  before: string;
  after: string;
}

export interface Changes {
  /** In the order of their paths. */
  changed: ChangedFile[];
  /** Files of either side. */
  count: number;
}

/** Past this many files of equal size their contents are not read. */
const MAX_READ = 300;
const MAX_BYTES = 1_000_000;

export function useChangedFiles(before: number, after: number) {
  return useQuery({
    queryKey: ["code", before, "against", after],
    queryFn: () => readChanges(before, after),
    staleTime: Infinity,
  });
}

async function readChanges(before: number, after: number): Promise<Changes> {
  const [old, now] = await Promise.all([sizesOf(before), sizesOf(after)]);
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort();
  if (before === after) return { changed: [], count: paths.length };
  const read = (id: number, sizes: Sizes, path: string) => {
    const size = sizes.get(path);
    return size === undefined ? undefined : size > MAX_BYTES ? `(${size} bytes)` : textOf(id, path);
  };
  const texts = await Promise.all(
    paths.slice(0, MAX_READ).map(async (path) => ({
      path,
      before: await read(before, old, path),
      after: await read(after, now, path),
    })),
  );
  return { changed: changesOf(texts), count: paths.length };
}

export function changesOf(
  files: readonly { path: string; before: string | undefined; after: string | undefined }[],
): ChangedFile[] {
  return files.flatMap(({ path, before, after }): ChangedFile[] => {
    if (before === after) return [];
    const change = before === undefined ? "added" : after === undefined ? "removed" : "changed";
    return [{ path, change, before: before ?? "", after: after ?? "" }];
  });
}

type Sizes = Map<string, number>;

async function sizesOf(id: number): Promise<Sizes> {
  const got = await answer(
    api.GET("/api/v1/experiments/{experiment_id}/file_tree", { params: { path: { experiment_id: id } } }),
  );
  const sizes: Sizes = new Map();
  const add = (nodes: readonly Schemas["FileNode"][]) => {
    for (const node of nodes)
      if (node.isDir) add(node.files ?? []);
      else sizes.set(node.path ?? "", node.contentLength ?? 0);
  };
  add(got.files ?? []);
  return sizes;
}

/** Bytes that are no UTF-8 are compared, too, but not shown. */
async function textOf(id: number, path: string): Promise<string> {
  const bytes = await fileBytes(id, path);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const digest = await crypto.subtle?.digest("SHA-256", bytes);
    const mark = digest ? Array.from(new Uint8Array(digest).slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("") : "";
    return `(${bytes.length} bytes that are no text ${mark})`;
  }
}
