/** Files that a person chooses in the browser, as the model directory of an experiment. */
import type { Schemas } from "@/api/client";

import { formatBytes, groupDigits } from "../format/numbers";
import { IGNORE_FILE, ignored } from "./ignored";

/** One chosen file; `path` is relative, with `/` between its parts. */
export interface Upload {
  path: string;
  size: number;
  /** Milliseconds since 1970. */
  modified: number;
  file: Blob;
}

export interface Folder {
  files: Upload[];
  /** How many files `.detignore`, version control and byte code left out. */
  ignored: number;
}

// The master's bounds (`domain/experiment/model_definition.py`, `determined_wire/bounds.py`).
export const MAX_BYTES = 96 * 2 ** 20;
export const MAX_FILES = 50_000;
const MAX_PATH_BYTES = 4096;
const MAX_LEVELS = 100;

const LARGEST = 3;
const FILE_TYPE = 48;
const DIRECTORY_TYPE = 53;
const PLAIN_MODE = 0o100644;
const PROGRAM_MODE = 0o100755;
const DIRECTORY_MODE = 0o40755;

/** Files of an `<input>`; a chosen folder itself is the root, so its name is left out. */
export function chosenFiles(list: Iterable<File>): Upload[] {
  return withoutTop([...list].map((file) => uploadOf(file, file.webkitRelativePath || file.name)));
}

/** What was dropped, with the contents of folders. */
export async function droppedFiles(items: Iterable<DataTransferItem>): Promise<Upload[]> {
  // The browser empties the list when the event ends: all entries are taken before the first wait.
  const dropped = [...items].map((item) => item.webkitGetAsEntry() ?? item.getAsFile()).filter((each) => each !== null);
  const read = (each: FileSystemEntry | File) =>
    each instanceof File ? [uploadOf(each, each.webkitRelativePath || each.name)] : filesOf(each, "");
  const files = (await Promise.all(dropped.map(read))).flat();
  const [first, ...more] = dropped;
  return first && more.length === 0 && !(first instanceof File) ? withoutTop(files) : files;
}

/** Without what the `.detignore` at the root leaves out. */
export async function withoutIgnored(files: readonly Upload[]): Promise<Folder> {
  const own = files.find(({ path }) => path === IGNORE_FILE);
  const isIgnored = ignored(own ? await textOf(own.file) : "");
  const sent = files.filter(({ path }) => !isIgnored(path));
  return { files: sent, ignored: files.length - sent.length - (own ? 1 : 0) };
}

/** Both; of two files with one path the later one. */
export function merged(before: readonly Upload[], after: readonly Upload[]): Upload[] {
  const byPath = new Map([...before, ...after].map((each) => [each.path, each]));
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function sizeOf(files: readonly Upload[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/** Why the master would refuse the files; the texts name the file and the remedy. */
export function uploadProblems(files: readonly Upload[]): string[] {
  const bytes = sizeOf(files);
  const problems: string[] = [];
  if (bytes > MAX_BYTES) {
    const largest = [...files].sort((a, b) => b.size - a.size).slice(0, LARGEST);
    const names = largest.map(({ path, size }) => `${path} (${formatBytes(size)})`).join(", ");
    problems.push(
      `The files have ${formatBytes(bytes)}, at most ${formatBytes(MAX_BYTES)} can be sent. The largest: ${names}. Leave data out with a ${IGNORE_FILE} file, or remove them.`,
    );
  }
  if (files.length > MAX_FILES)
    problems.push(
      `${groupDigits(String(files.length))} files are chosen, at most ${groupDigits(String(MAX_FILES))} can be sent: leave files out with a ${IGNORE_FILE} file, or send an archive of them.`,
    );
  for (const { path } of files) {
    const problem = pathProblem(path);
    if (problem) problems.push(problem);
  }
  return problems;
}

function pathProblem(path: string): string | undefined {
  const parts = path.split("/");
  if (!path || path.startsWith("/") || parts.includes("..") || path.includes("\0"))
    return `The path ${JSON.stringify(path)} leads out of the folder: rename the file or remove it.`;
  if (new TextEncoder().encode(path).length > MAX_PATH_BYTES || parts.length > MAX_LEVELS)
    return `The path ${JSON.stringify(`${path.slice(0, 80)}…`)} is too long: use at most ${MAX_PATH_BYTES} bytes and ${MAX_LEVELS} levels, or remove the file.`;
  return undefined;
}

/** The files as the master takes them, each folder before its contents. */
export async function modelDefinition(files: readonly Upload[]): Promise<Schemas["File"][]> {
  const folders = new Set(files.flatMap(({ path }) => path.split("/").map((_, at, parts) => parts.slice(0, at).join("/"))));
  folders.delete("");
  const items = [...folders].sort().map((path) => itemOf(path, DIRECTORY_TYPE, DIRECTORY_MODE));
  for (const { path, file, modified } of files) {
    const content = await base64(file).catch(() => {
      throw new Error(`${path} cannot be read: it was changed or removed after it was chosen. Choose the files again.`);
    });
    // A browser does not say which files are programs: those with a first line `#!` are.
    const mode = content.startsWith("IyE") ? PROGRAM_MODE : PLAIN_MODE;
    items.push({ ...itemOf(path, FILE_TYPE, mode), content, mtime: String(Math.floor(modified / 1000)) });
  }
  return items;
}

function itemOf(path: string, type: number, mode: number): Schemas["File"] {
  return { path, type, content: "", mtime: "0", mode, uid: 0, gid: 0 };
}

async function base64(file: Blob): Promise<string> {
  return (await read(file, "readAsDataURL")).replace(/^.*?(,|$)/, "");
}

export function textOf(file: Blob): Promise<string> {
  return read(file, "readAsText");
}

function read(file: Blob, how: "readAsDataURL" | "readAsText"): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("it cannot be read"));
    reader[how](file);
  });
}

function uploadOf(file: File, path: string): Upload {
  return { path, size: file.size, modified: file.lastModified, file };
}

/** Without the first part of the paths, where all have the same one. */
function withoutTop(files: Upload[]): Upload[] {
  const top = files[0]?.path.split("/")[0] ?? "";
  if (!files.every(({ path }) => path.startsWith(`${top}/`))) return files;
  return files.map((each) => ({ ...each, path: each.path.slice(top.length + 1) }));
}

async function filesOf(entry: FileSystemEntry, above: string): Promise<Upload[]> {
  const path = above ? `${above}/${entry.name}` : entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [uploadOf(file, path)];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: Upload[] = [];
  // A reader gives a hundred entries at a time, and none at the end.
  for (;;) {
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return found;
    for (const each of entries) found.push(...(await filesOf(each, path)));
  }
}
