/** Answers that are a stream of JSON objects, one a line: `{"result": …}` or `{"error": …}`. */
import { send } from "@/api/client";
import { ApiError } from "@/api/errors";

interface Message<T> {
  result?: T;
  error?: { message?: string; error?: string; httpCode?: number };
}

/** Calls `onBatch` with the messages of each piece of the answer, until it ends. */
export async function streamJson<T>(
  path: string,
  onBatch: (messages: T[]) => void,
  signal?: AbortSignal,
): Promise<void> {
  const response = await send("GET", path, signal ? { signal } : {});
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += decoder.decode(value, { stream: !done });
    const lines = rest.split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    const messages = lines.filter((line) => line.trim() !== "").map((line) => parse<T>(path, line));
    if (messages.length > 0) onBatch(messages);
    if (done) return;
  }
}

export async function readJson<T>(path: string, signal?: AbortSignal): Promise<T[]> {
  const all: T[] = [];
  await streamJson<T>(path, (batch) => batch.forEach((each) => all.push(each)), signal);
  return all;
}

function parse<T>(path: string, line: string): T {
  const message = JSON.parse(line) as Message<T>;
  if (message.error) {
    const { message: text, error, httpCode } = message.error;
    throw new ApiError("GET", path, httpCode ?? 500, text ?? error ?? "The master ended the stream with an error.");
  }
  return message.result as T;
}
