import { useState } from "react";

import { Button } from "@/ui/button/Button";
import { download } from "@/ui/chart/export/download";
import { toast } from "@/ui/feedback/toast";

const LAST_WEEK = "started>7d";

/** The query with the term of the last week, or without it. */
export function toggledWeek(query: string): string {
  const terms = query.split(/\s+/).filter(Boolean);
  return (terms.includes(LAST_WEEK) ? terms.filter((term) => term !== LAST_WEEK) : [...terms, LAST_WEEK]).join(" ");
}

/** Shows only what has started in the last seven days. */
export function LastWeek({ query, onQuery }: { query: string; onQuery(query: string): void }) {
  const isOn = query.split(/\s+/).includes(LAST_WEEK);
  return (
    <Button look={isOn ? "normal" : "quiet"} aria-pressed={isOn} title="Started in the last seven days" onClick={() => onQuery(toggledWeek(query))}>
      Last week
    </Button>
  );
}

/** The list as a file; `read` gives its text. */
export function CsvButton({ name, read }: { name: string; read(): Promise<string> }) {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      download(`${name}.csv`, await read(), "text/csv");
    } catch (error) {
      toast.failed("Read the list", error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button look="quiet" icon="download" title="All rows that match, with the shown columns" disabledReason={isBusy ? "The list is being read." : undefined} onClick={() => void save()}>
      CSV
    </Button>
  );
}
