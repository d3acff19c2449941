import { useMemo } from "react";

import { useAuditLog, type AuditEntry } from "@/data/audit";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { formatInstant } from "@/data/format/times";
import { Button } from "@/ui/button/Button";
import { download } from "@/ui/chart/export/download";
import { Empty, ErrorNotice } from "@/ui/feedback/Feedback";
import { SearchField } from "@/ui/field/SearchField";
import { Page } from "@/ui/layout/Page";
import { Toolbar } from "@/ui/layout/Toolbar";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";

import { auditCsv, changedThing, filteredEntries, operationWords } from "./audit";
import styles from "./Events.module.css";
import { UserSelect } from "./UserSelect";
import { useEventTabs } from "./useEventTabs";

const keyOf = (entry: AuditEntry) => entry.id;
const nameOf = (entry: AuditEntry) => `${operationWords(entry.operation)} ${changedThing(entry)}`;

/** `/events/administration`: who changed users, roles, workspaces and settings. */
export default function AdministrationPage() {
  const tabs = useEventTabs();
  const [user, setUser] = useParam("user", "");
  const [words, setWords] = useParam("q", "");
  const query = useAuditLog(Number(user) || 0);
  const loaded = useMemo(() => query.data?.pages.flatMap((page) => page.entries), [query.data]);
  const shown = useMemo(() => loaded && filteredEntries(loaded, words), [loaded, words]);
  return (
    <Page
      name="Administration events"
      title="Events"
      flush
      {...(tabs ? { tabs } : {})}
      actions={
        <Button
          icon="download"
          disabledReason={shown?.length ? undefined : "There is nothing to export."}
          onClick={() => download(`administration ${new Date().toISOString().slice(0, 10)}.csv`, auditCsv(shown ?? []), "text/csv")}
        >
          CSV
        </Button>
      }
    >
      <div className={styles.tools}>
        <Toolbar end={<span role="status">{shown ? plural(shown.length, "entry", "entries") : "Loading"}</span>}>
          <SearchField label="Find words" placeholder="Words in user, action or address" value={words} onValue={setWords} />
          <UserSelect value={user} onValue={setUser} />
        </Toolbar>
      </div>
      {query.error && (
        <div className={styles.tools}>
          <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
        </div>
      )}
      {(shown || !query.error) && (
        <DataTable
          label="Administration events"
          fill
          rows={shown}
          rowKey={keyOf}
          rowName={nameOf}
          columns={COLUMNS}
          empty={
            <Empty title={words || user ? "No entry matches" : "Nothing yet"}>
              {words || user ? "Change the words or the user." : "Changes of users, roles, tokens, workspaces, agents and settings appear here."}
            </Empty>
          }
        />
      )}
      <div className={styles.foot}>
        {query.hasNextPage ? (
          <Button small disabledReason={query.isFetchingNextPage ? "The master is asked." : undefined} onClick={() => void query.fetchNextPage()}>
            {query.isFetchingNextPage ? "Reading …" : "Read older entries"}
          </Button>
        ) : (
          query.data && <span className="hint">These are all. Entries are kept for 400 days.</span>
        )}
      </div>
    </Page>
  );
}

const COLUMNS: Column<AuditEntry>[] = [
  {
    id: "at",
    header: "Time",
    width: 170,
    type: "date",
    sortable: true,
    value: (entry) => entry.at,
    render: (entry) => (
      <time dateTime={entry.at} className="number">
        {formatInstant(entry.at)}
      </time>
    ),
  },
  { id: "user", header: "Who", width: 150, sortable: true, value: (entry) => entry.username, render: (entry) => entry.username },
  { id: "operation", header: "What", width: 240, sortable: true, value: (entry) => operationWords(entry.operation), render: (entry) => operationWords(entry.operation) },
  {
    id: "thing",
    header: "On",
    width: 300,
    grow: true,
    sortable: true,
    value: changedThing,
    render: (entry) => (
      <span className="mono" title={`${entry.method} ${entry.path}`}>
        {changedThing(entry)}
      </span>
    ),
  },
];
