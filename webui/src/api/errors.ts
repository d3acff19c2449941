/** A refusal by the master, with what a person needs to report it. */
export class ApiError extends Error {
  constructor(
    readonly method: string,
    readonly path: string,
    readonly status: number,
    message: string,
    options?: { cause?: unknown; requestId?: string },
  ) {
    super(message, options);
    this.name = "ApiError";
    this.requestId = options?.requestId ?? "";
  }

  readonly requestId: string;

  get isUnreachable(): boolean {
    return this.status === 0;
  }

  get isNotFound(): boolean {
    return this.status === 404;
  }

  get isForbidden(): boolean {
    return this.status === 403;
  }
}

interface ErrorBody {
  message?: string;
  error?: { error?: string; reason?: string } | string;
}

/** The error of a response that is not OK. */
export function toApiError(response: Response, body: unknown, method: string): ApiError {
  const path = response.url ? new URL(response.url).pathname : "";
  const requestId = response.headers.get("x-request-id") ?? "";
  return new ApiError(method, path, response.status, textOf(body) || response.statusText, {
    requestId,
  });
}

function textOf(body: unknown): string {
  if (typeof body === "string") return body.slice(0, 2000);
  const shape = (body ?? {}) as ErrorBody;
  if (typeof shape.error === "string") return shape.error;
  return shape.error?.error ?? shape.message ?? shape.error?.reason ?? "";
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
