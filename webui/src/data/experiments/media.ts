/** Images, tables, histograms, audio and texts of a trial (`docs/ui-api.md`). */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { BASE_PATH, request, send } from "@/api/client";

import { usePollInterval } from "../live";
import { isFinished } from "../states";
import type { Trial } from "./queries";

export interface MediaSeries {
  group: string;
  name: string;
  kind: string;
  extension: string;
  /** `GROUP/NAME` as in the paths of files. */
  path: string;
  steps: number[];
}

interface MediaList {
  media: MediaSeries[];
  isCut: boolean;
}

export interface MediaFile {
  steps: number;
  /** Below the route of the trial's media. */
  path: string;
}

/** The values of one name and kind, by ascending steps. */
export interface MediaItem {
  key: string;
  group: string;
  name: string;
  kind: string;
  files: MediaFile[];
}

export interface Histogram {
  edges: number[];
  counts: number[];
  notFinite: number;
}

export interface MediaTable {
  columns: string[];
  rows: string[][];
}

/** New files come while a trial runs: they are uploaded a second after their report. */
const POLL_MS = 5000;
/** The end of a JSON file that is too large for a page; the harness writes 4 MiB at most. */
const MAX_TEXT = 4 * 1024 * 1024;

export function useMedia(trial: Trial) {
  const poll = usePollInterval(POLL_MS);
  return useQuery({
    queryKey: ["trials", trial.id, "media", isFinished(trial.state)],
    queryFn: () => request<MediaList>("GET", `/api/ui/v1/trials/${trial.id}/media`),
    placeholderData: keepPreviousData,
    refetchInterval: isFinished(trial.state) ? false : poll || POLL_MS,
    retry: false,
  });
}

/** The text of a file; the last one stays until the next has come. */
export function useMediaText(trialId: number, path: string) {
  return useQuery({
    queryKey: ["trials", trialId, "media", "file", path],
    queryFn: async () => (await (await send("GET", routeOf(trialId, path))).text()).slice(0, MAX_TEXT),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

/** The address of a file, for elements that load it themselves. */
export function mediaAddress(trialId: number, path: string): string {
  return BASE_PATH + routeOf(trialId, path);
}

function routeOf(trialId: number, path: string): string {
  return `/api/ui/v1/trials/${trialId}/media/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Series as items: one whose files have several formats is one item. */
export function itemsOf(series: readonly MediaSeries[]): MediaItem[] {
  const items = new Map<string, MediaItem>();
  for (const { group, name, kind, extension, path, steps } of series) {
    const key = `${kind} ${path}`;
    const item = items.get(key) ?? { key, group, name, kind, files: [] };
    const file = (at: number) => `${path}/${String(at).padStart(12, "0")}.${kind}.${extension}`;
    item.files.push(...steps.map((at) => ({ steps: at, path: file(at) })));
    items.set(key, item);
  }
  for (const item of items.values()) item.files.sort((a, b) => a.steps - b.steps);
  return [...items.values()];
}

/** All steps at which there is a value, ascending. */
export function stepsOf(items: readonly MediaItem[]): number[] {
  const all = new Set(items.flatMap((item) => item.files.map((file) => file.steps)));
  return [...all].sort((a, b) => a - b);
}

/** The value that was the latest at some steps. */
export function fileAt(item: MediaItem, steps: number): MediaFile | undefined {
  return item.files.findLast((file) => file.steps <= steps);
}

/** A table of a file; undefined when it is none, as anybody can write to a storage. */
export function tableOf(text: string): MediaTable | undefined {
  const value = parsed(text);
  if (!Array.isArray(value?.columns) || !Array.isArray(value.rows)) return undefined;
  const rows = value.rows.filter((row): row is unknown[] => Array.isArray(row));
  return { columns: value.columns.map(textOf), rows: rows.map((row) => row.map(textOf)) };
}

/** A histogram of a file; undefined when it is none. */
export function histogramOf(text: string): Histogram | undefined {
  const value = parsed(text);
  const edges = numbersOf(value?.edges);
  const counts = numbersOf(value?.counts);
  if (!edges || !counts || counts.length === 0 || edges.length !== counts.length + 1) return undefined;
  const notFinite = typeof value?.notFinite === "number" ? value.notFinite : 0;
  return { edges, counts, notFinite };
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function numbersOf(value: unknown): number[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === "number") ? value : undefined;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value as string | number | boolean);
}
