/** The typed client of the REST API. Types come from the OpenAPI document of the master. */
import createClient from "openapi-fetch";

import { basePath } from "./basePath";
import { noteDate } from "./clock";
import { ApiError, toApiError } from "./errors";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** The prefix before `/det/`, when a proxy serves the master below a path. */
export const BASE_PATH = basePath(
  location.pathname,
  document.querySelector("script[src*='/det/assets/']")?.getAttribute("src"),
);

/** Listeners are called when the master refuses the session; see `data/session`. */
const onUnauthenticated = new Set<() => void>();

export function whenUnauthenticated(listener: () => void): () => void {
  onUnauthenticated.add(listener);
  return () => onUnauthenticated.delete(listener);
}

export const api = createClient<paths>({
  baseUrl: BASE_PATH || "/",
  credentials: "same-origin",
  querySerializer: { array: { style: "form", explode: true } },
});

const sentAt = new WeakMap<Request, number>();
api.use({
  onRequest({ request }) {
    sentAt.set(request, Date.now());
  },
  onResponse({ request, response }) {
    const at = sentAt.get(request);
    if (at !== undefined) noteDate(response.headers, at);
  },
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/**
 * The data of an answer.
 *
 * @throws ApiError when the master refuses, or cannot be reached (`status` 0).
 */
export async function answer<T>(request: Promise<Answer<T>>): Promise<T> {
  let result: Answer<T>;
  try {
    result = await request;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError("", "", 0, "The master cannot be reached.", { cause });
  }
  if (result.response.ok) return result.data as T;
  return raise(result.response, result.error);
}

/** Requests to routes that the document does not type: `/api/ui/v1/*`, raw files. */
export async function request<T>(
  method: string,
  path: string,
  { body, signal, headers }: { body?: unknown; signal?: AbortSignal; headers?: HeadersInit } = {},
): Promise<T> {
  const response = await send(method, path, { body, signal, headers });
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Like `request`, but gives the response itself, for streams and files. */
export async function send(
  method: string,
  path: string,
  { body, signal, headers }: { body?: unknown; signal?: AbortSignal; headers?: HeadersInit } = {},
): Promise<Response> {
  let response: Response;
  const begun = Date.now();
  try {
    response = await fetch(BASE_PATH + path, {
      method,
      credentials: "same-origin",
      headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError(method, path, 0, "The master cannot be reached.", { cause });
  }
  noteDate(response.headers, begun);
  if (response.ok) return response;
  const text = await response.text();
  let parsed: unknown = text;
  try {
    parsed = JSON.parse(text);
  } catch {
    // A plain-text error stays as it is.
  }
  return raise(response, parsed, method);
}

function raise(response: Response, error: unknown, method = ""): never {
  if (response.status === 401) onUnauthenticated.forEach((listener) => listener());
  throw toApiError(response, error, method);
}
