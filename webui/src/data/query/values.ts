/** Typed values from the words of a query. */
import type { Field } from "./fields";

export type Value = string | number;
export type Read = { value: Value } | { reason: string };

const DURATION = /^(?:\d+(?:\.\d+)?[dhms])+$/;
const PART = /(\d+(?:\.\d+)?)([dhms])/g;
const SECONDS: Record<string, number> = { d: 86_400, h: 3600, m: 60, s: 1 };
const SIZE = /^(\d+(?:\.\d+)?)\s*([kmgt])i?b$/i;
const AGO = /^(\d+)(mo|[mhdwy])$/;
const AGO_S: Record<string, number> = { m: 60, h: 3600, d: 86_400, w: 604_800, mo: 2_592_000, y: 31_536_000 };

const STATES: Record<string, string> = {
  running: "ACTIVE",
  active: "ACTIVE",
  failed: "ERROR",
  errored: "ERROR",
  cancelled: "CANCELED",
  done: "COMPLETED",
  finished: "COMPLETED",
};

const KNOWN_STATES = new Set([
  ...["ACTIVE", "QUEUED", "PULLING", "STARTING", "RUNNING", "PAUSED", "COMPLETED", "ERROR", "CANCELED"],
  ...["STOPPING_CANCELED", "STOPPING_KILLED", "STOPPING_COMPLETED", "STOPPING_ERROR"],
  ...["DELETING", "DELETE_FAILED", "DELETED", "PARTIALLY_DELETED"],
]);

export interface Surroundings {
  /** The name that the master compares `user` with. */
  me: string;
  /** Milliseconds since the epoch. */
  now: number;
}

export function readValue(field: Field, word: string, { me, now }: Surroundings): Read {
  if (field.column === "user" && word.toLowerCase() === "me") return { value: me };
  if (field.column === "state") return readState(word);
  if (field.type === "number") return readNumber(field, word);
  if (field.type === "date") return readDate(field, word, now);
  return { value: word };
}

function readState(word: string): Read {
  const state = STATES[word.toLowerCase()] ?? word.replace(/^STATE_/i, "").toUpperCase();
  if (KNOWN_STATES.has(state)) return { value: state };
  return { reason: `“${word}” is no state. States are running, queued, paused, completed, error, canceled.` };
}

function readNumber(field: Field, word: string): Read {
  const text = word.trim();
  const plain = Number(text);
  if (text !== "" && Number.isFinite(plain)) return { value: plain };
  if (field.column === "duration" && DURATION.test(text)) {
    const parts = [...text.matchAll(PART)];
    return { value: parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (SECONDS[unit ?? ""] ?? 0), 0) };
  }
  const size = field.column === "checkpointSize" ? SIZE.exec(text) : null;
  if (size) return { value: Number(size[1]) * 1024 ** (1 + "kmgt".indexOf((size[2] ?? "").toLowerCase())) };
  const example = field.column === "duration" ? "90s or 1h30m" : field.column === "checkpointSize" ? "500MB" : "0.2 or 1e-4";
  return { reason: `“${word}” is not a number. Write it as ${example}.` };
}

function readDate(field: Field, word: string, now: number): Read {
  const ago = AGO.exec(word.toLowerCase());
  if (ago) return { value: new Date(now - Number(ago[1]) * 1000 * (AGO_S[ago[2] ?? ""] ?? 0)).toISOString() };
  if (word.toLowerCase() === "today") return { value: new Date(new Date(now).setHours(0, 0, 0, 0)).toISOString() };
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(word);
  const time = /^\d{4}-\d{2}-\d{2}/.test(word) ? Date.parse(isDay ? `${word}T00:00:00` : word) : NaN;
  if (!Number.isNaN(time)) return { value: new Date(time).toISOString() };
  return { reason: `“${word}” is not a time for ${field.label}. Write 2026-01-31, 2026-01-31T12:00, or 7d for seven days ago.` };
}
