/** The log of the master: a ring of lines, numbered since its start. */
import { readJson, streamJson } from "./ndjson";
import { lineOf, type WireLine } from "./lines";
import type { LogLine, LogSource } from "./types";

interface Entry {
  logEntry: WireLine;
}

const PATH = "/api/v1/master/logs";

export function masterLogs(): LogSource {
  return {
    async loadBefore(line, count) {
      if (!line) {
        const lines = await read(-count, count);
        return { lines, end: lines.length < count || lines[0]?.id === "0" };
      }
      const number = Number(line.id);
      const from = Math.max(0, number - count);
      if (number === 0) return { lines: [], end: true };
      const lines = (await read(from, number - from)).filter((each) => Number(each.id) < number);
      // The ring has dropped the oldest: an answer may begin later than asked.
      return { lines, end: from === 0 || lines.length === 0 };
    },
    async loadAfter(line, count) {
      const lines = await read(line ? Number(line.id) + 1 : 0, count);
      return { lines, end: lines.length < count };
    },
    follow(line, onLines, onEnd) {
      const abort = new AbortController();
      const path = `${PATH}?follow=true&offset=${line ? Number(line.id) + 1 : 0}`;
      const take = (entries: Entry[]) => onLines(entries.map(({ logEntry }) => lineOf(logEntry)));
      streamJson<Entry>(path, take, abort.signal).then(onEnd, () => undefined);
      return () => abort.abort();
    },
  };
}

async function read(offset: number, limit: number): Promise<LogLine[]> {
  const entries = await readJson<Entry>(`${PATH}?offset=${offset}&limit=${limit}`);
  return entries.map(({ logEntry }) => lineOf(logEntry));
}
