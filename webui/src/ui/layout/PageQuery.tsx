import type { ReactNode } from "react";

import { ApiError } from "@/api/errors";

import { NotFound, QueryView, type QueryLike } from "../feedback/Feedback";
import { Page } from "./Page";

/**
 * The query of a whole page. Until its data is there, and where the master refuses it, the page has
 * `name` as its heading. What is missing, also after it was shown, has a page that says so.
 */
export function PageQuery<T>({
  query,
  what,
  name,
  children,
}: {
  query: QueryLike<T>;
  what: string;
  name: string;
  children: (data: T) => ReactNode;
}) {
  const view = (
    <QueryView query={query} what={what}>
      {children}
    </QueryView>
  );
  const isMissing = query.error instanceof ApiError && query.error.isNotFound;
  if (query.data !== undefined && !isMissing) return view;
  return <Page name={isMissing ? "Not found" : name}>{view}</Page>;
}

/** The whole page is missing. */
export function MissingPage({ what, message }: { what: string; message?: string }) {
  return (
    <Page name="Not found">
      <NotFound what={what} {...(message ? { message } : {})} />
    </Page>
  );
}
