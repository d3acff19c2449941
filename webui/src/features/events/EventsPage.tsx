import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";

import { serverNow } from "@/api/clock";
import { eventsKey, readAllEvents, useEvents, useNewEvents, type ClusterEvent, type EventFilter, type Level } from "@/data/events";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { formatInstant } from "@/data/format/times";
import { Button } from "@/ui/button/Button";
import { download } from "@/ui/chart/export/download";
import { ErrorNotice, Empty } from "@/ui/feedback/Feedback";
import { toast } from "@/ui/feedback/toast";
import { Segments, Select } from "@/ui/field/Field";
import { SearchField } from "@/ui/field/SearchField";
import { Page } from "@/ui/layout/Page";
import { Toolbar } from "@/ui/layout/Toolbar";
import { DataTable } from "@/ui/table/DataTable";

import { columns } from "./columns";
import { eventsCsv, narrowed, placeOf, sinceOf } from "./eventRows";
import styles from "./Events.module.css";
import { UserSelect } from "./UserSelect";
import { useEventTabs } from "./useEventTabs";

const WHOSE = [
  { value: "acts", label: "Actions of users" },
  { value: "all", label: "Everything" },
] as const;
const KINDS = [
  { value: "", label: "All things" },
  { value: "experiment", label: "Experiments" },
  { value: "trial", label: "Trials" },
  { value: "interactive", label: "Interactive tasks" },
  { value: "task", label: "Generic tasks" },
  { value: "allocation", label: "Allocations" },
];
const LEVELS = [
  { value: "info", label: "All levels" },
  { value: "warning", label: "Warnings and errors" },
  { value: "error", label: "Errors" },
];
const SPANS = [
  { value: "hour", label: "The last hour" },
  { value: "day", label: "The last day" },
  { value: "week", label: "The last week" },
  { value: "month", label: "The last 30 days" },
  { value: "", label: "All that is kept" },
];
const keyOf = (event: ClusterEvent) => event.cursor;
const nameOf = (event: ClusterEvent) => event.text;

/** `/events`: who did what to which thing, and what the master did then, the newest first. */
export default function EventsPage() {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const tabs = useEventTabs();
  const [whose, setWhose] = useParam<"acts" | "all">("of", "acts");
  const [kind, setKind] = useParam("kind", "");
  const [user, setUser] = useParam("user", "");
  const [level, setLevel] = useParam<Level>("level", "info");
  const [span, setSpan] = useParam("span", "");
  const [words, setWords] = useParam("q", "");
  // A span is one of the time at which it was chosen: the list stands still until it is read again.
  const [readAt, setReadAt] = useState(() => serverNow());
  const filter = useMemo<EventFilter>(
    () => ({ kind, userId: Number(user) || 0, actsOnly: whose === "acts", since: sinceOf(span, readAt) }),
    [kind, user, whose, span, readAt],
  );
  const query = useEvents(filter);
  const loaded = useMemo(() => query.data?.pages.flatMap((page) => page.events), [query.data]);
  const shown = useMemo(() => loaded && narrowed(loaded, words, level), [loaded, words, level]);
  const fresh = useNewEvents(filter, loaded?.[0]?.cursor, query.isSuccess);
  const searchedTo = query.data?.pages.at(-1)?.searchedTo;
  const renew = () => {
    setReadAt(serverNow());
    void cache.resetQueries({ queryKey: eventsKey });
  };
  const isNarrow = words !== "" || level !== "info";
  return (
    <Page name="Events" flush {...(tabs ? { tabs } : {})} actions={<Export filter={filter} words={words} level={level} />}>
      <div className={styles.tools}>
        <Toolbar
          end={
            fresh.count > 0 && (
              <Button small icon="refresh" onClick={renew}>
                {fresh.count}
                {fresh.isMore && "+"} new
              </Button>
            )
          }
        >
          <Segments label="Whose" value={whose} options={WHOSE} onValue={setWhose} />
          <SearchField label="Find words" placeholder="Words in text, name or user" value={words} onValue={setWords} />
          <Select label="Things" hideLabel value={kind} options={KINDS} onValue={setKind} />
          <UserSelect value={user} onValue={setUser} />
          <Select label="Level" hideLabel value={level} options={LEVELS} onValue={(value) => setLevel(value as Level)} />
          <Select label="Time" hideLabel value={span} options={SPANS} onValue={setSpan} />
        </Toolbar>
      </div>
      {query.error && <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />}
      {(shown || !query.error) && (
        <DataTable
          label="Events"
          fill
          rows={shown}
          rowKey={keyOf}
          rowName={nameOf}
          columns={columns}
          onOpen={(event) => {
            const place = placeOf(event.thing);
            if (place) void navigate(place);
          }}
          rowMenu={(event) => [
            { label: "Open the thing", icon: "external", disabledReason: placeOf(event.thing) ? undefined : "It has no page.", ...placeEntry(event) },
            event.userId > 0 && { label: `Only events of ${event.username}`, icon: "filter", onSelect: () => setUser(String(event.userId)) },
          ]}
          empty={
            <Empty title={query.hasNextPage ? "Nothing yet" : "No event matches"}>
              {isNarrow
                ? "Words and level narrow what is read. Read older events, or change them."
                : whose === "acts"
                  ? "Nobody did anything in this time. “Everything” shows what the master did by itself."
                  : "Nothing happened in this time to what you see."}
            </Empty>
          }
        />
      )}
      <div className={styles.foot}>
        <span role="status">
          {shown ? plural(shown.length, "event") : "Loading"}
          {isNarrow && loaded && ` of ${loaded.length.toLocaleString("en")} read`}
        </span>
        {query.hasNextPage ? (
          <Button small disabledReason={query.isFetchingNextPage ? "The master is asked." : undefined} onClick={() => void query.fetchNextPage()}>
            {query.isFetchingNextPage ? "Reading …" : "Read older events"}
          </Button>
        ) : (
          query.data && <span className="hint">These are all.</span>
        )}
        {searchedTo && <span className="hint">Read back to {formatInstant(searchedTo)}</span>}
      </div>
    </Page>
  );
}

function placeEntry(event: ClusterEvent): { to?: string } {
  const to = placeOf(event.thing);
  return to ? { to } : {};
}

function Export({ filter, words, level }: { filter: EventFilter; words: string; level: Level }) {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const { events, isCut } = await readAllEvents(filter);
      download(`events ${new Date().toISOString().slice(0, 10)}.csv`, eventsCsv(narrowed(events, words, level)), "text/csv");
      if (isCut) toast.info("The file has the newest 10,000 events that were read. Narrow the time for older ones.");
    } catch (error) {
      toast.failed("Export the events", error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button icon="download" disabledReason={isBusy ? "The master is asked." : undefined} onClick={() => void save()}>
      CSV
    </Button>
  );
}
