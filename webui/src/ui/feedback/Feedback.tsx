/** The states of a view: loading, empty, failed. */
import { useEffect, useState, type ReactNode } from "react";

import { ApiError, messageOf } from "@/api/errors";

import { Button } from "../button/Button";
import { Icon } from "../icons/Icon";
import { CopyButton } from "../text/Copy";
import styles from "./Feedback.module.css";

/** The refusal of a region, with all that a report needs. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const api = error instanceof ApiError ? error : undefined;
  const facts = api
    ? [api.method, api.path, api.status ? `status ${api.status}` : "", api.requestId && `request ${api.requestId}`]
        .filter(Boolean)
        .join(" · ")
    : "";
  return (
    <div className={styles.notice} role="alert">
      <Icon name="warning" />
      <div className="stack grow" style={{ gap: 6 }}>
        <div className={styles.message}>{messageOf(error)}</div>
        {facts && <div className="hint mono">{facts}</div>}
        <div className="row">
          {onRetry && (
            <Button small icon="refresh" onClick={onRetry}>
              Retry
            </Button>
          )}
          <CopyButton text={`${messageOf(error)}\n${facts}`} label="Copy the error" />
        </div>
      </div>
    </div>
  );
}

/** Nothing to show: why, and what to do. `command` is the `det` command that makes the first. */
export function Empty({
  title,
  children,
  command,
  action,
}: {
  title: string;
  children?: ReactNode;
  command?: string;
  action?: ReactNode;
}) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {command && (
        <div className={styles.command}>
          <code>{command}</code>
          <CopyButton text={command} label="Copy the command" />
        </div>
      )}
      {action}
    </div>
  );
}

/** Grey boxes in the layout of what comes; after 5 s a sentence says what is slow. */
export function Loading({
  rows = 6,
  height = 20,
  what,
}: {
  rows?: number;
  height?: number;
  what: string;
}) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 5000);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="stack" role="status" aria-label={`Loading ${what}`} style={{ gap: 10 }}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className={styles.skeleton} style={{ height }} />
      ))}
      {slow && <div className="hint">Loading {what} takes longer than usual.</div>}
    </div>
  );
}

export interface QueryLike<T> {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  refetch(): unknown;
}

/** The three states of a query around its data; stale data stays visible beside an error, except 404. */
export function QueryView<T>({
  query,
  what,
  children,
  loading,
}: {
  query: QueryLike<T>;
  what: string;
  children: (data: T) => ReactNode;
  loading?: ReactNode;
}) {
  // What was deleted, or hidden from the person, is not shown any longer.
  if (query.error instanceof ApiError && query.error.isNotFound)
    return <NotFound what={what} message={query.error.message} />;
  if (query.data !== undefined)
    return (
      <>
        {query.error ? <ErrorNotice error={query.error} onRetry={() => query.refetch()} /> : null}
        {children(query.data)}
      </>
    );
  if (query.error) return <ErrorNotice error={query.error} onRetry={() => query.refetch()} />;
  return <>{loading ?? <Loading what={what} />}</>;
}

/** A missing thing and a hidden one look the same. */
export function NotFound({ what, message }: { what: string; message?: string }) {
  return (
    <Empty title="Not found">
      {message || `This ${what} does not exist, or you may not see it.`}
    </Empty>
  );
}

export function Progress({ value, label }: { value: number; label: string }) {
  const percent = Math.round(Math.min(1, Math.max(0, value)) * 100);
  return (
    <div
      className={styles.progress}
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <div style={{ width: `${percent}%` }} />
    </div>
  );
}
