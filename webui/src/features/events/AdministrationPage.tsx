import { useMemo } from "react";

import { useActs, type Act } from "@/data/acts";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { formatInstant } from "@/data/format/times";
import { useUsers } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { download } from "@/ui/chart/export/download";
import { Empty, ErrorNotice } from "@/ui/feedback/Feedback";
import { Select } from "@/ui/field/Field";
import { SearchField } from "@/ui/field/SearchField";
import { Page } from "@/ui/layout/Page";
import { Toolbar } from "@/ui/layout/Toolbar";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";

import { actsCsv, actThing, actWords, narrowedActs } from "./acts";
import styles from "./Events.module.css";
import { useEventTabs } from "./useEventTabs";

const keyOf = (act: Act) => act.id;
const nameOf = (act: Act) => `${actWords(act.operation)} ${actThing(act)}`;

/** `/events/administration`: who changed users, roles, workspaces and settings. */
export default function AdministrationPage() {
  const tabs = useEventTabs();
  const [user, setUser] = useParam("user", "");
  const [words, setWords] = useParam("q", "");
  const users = useUsers().data ?? [];
  const query = useActs(Number(user) || 0);
  const loaded = useMemo(() => query.data?.pages.flatMap((page) => page.acts), [query.data]);
  const shown = useMemo(() => loaded && narrowedActs(loaded, words), [loaded, words]);
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
          onClick={() => download(`administration ${new Date().toISOString().slice(0, 10)}.csv`, actsCsv(shown ?? []), "text/csv")}
        >
          CSV
        </Button>
      }
    >
      <div className={styles.tools}>
        <Toolbar end={<span role="status">{shown ? plural(shown.length, "act") : "Loading"}</span>}>
          <SearchField label="Find words" placeholder="Words in user, act or address" value={words} onValue={setWords} />
          <Select
            label="User"
            hideLabel
            value={user}
            onValue={setUser}
            options={[
              { value: "", label: "All users" },
              ...users.map((each) => ({ value: String(each.id), label: each.displayName || each.username || "" })),
            ]}
          />
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
            <Empty title={words || user ? "No act matches" : "Nothing yet"}>
              {words || user ? "Change the words or the user." : "Changes of users, roles, tokens, workspaces, agents and settings appear here."}
            </Empty>
          }
        />
      )}
      <div className={styles.foot}>
        {query.hasNextPage ? (
          <Button small disabledReason={query.isFetchingNextPage ? "The master is asked." : undefined} onClick={() => void query.fetchNextPage()}>
            {query.isFetchingNextPage ? "Reading …" : "Read older acts"}
          </Button>
        ) : (
          query.data && <span className="hint">These are all. Acts are kept for 400 days.</span>
        )}
      </div>
    </Page>
  );
}

const COLUMNS: Column<Act>[] = [
  {
    id: "at",
    header: "Time",
    width: 170,
    type: "date",
    sortable: true,
    value: (act) => act.at,
    render: (act) => (
      <time dateTime={act.at} className="number">
        {formatInstant(act.at)}
      </time>
    ),
  },
  { id: "user", header: "Who", width: 150, sortable: true, value: (act) => act.username, render: (act) => act.username },
  { id: "act", header: "What", width: 240, sortable: true, value: (act) => actWords(act.operation), render: (act) => actWords(act.operation) },
  {
    id: "thing",
    header: "On",
    width: 300,
    grow: true,
    sortable: true,
    value: actThing,
    render: (act) => (
      <span className="mono" title={`${act.method} ${act.path}`}>
        {actThing(act)}
      </span>
    ),
  },
];
