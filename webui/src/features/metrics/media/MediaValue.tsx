/** One value of a trial, by its kind. Contents are anybody's who writes to the storage: text is only text. */
import { useState, type ReactNode } from "react";

import { histogramOf, mediaAddress, tableOf, useMediaText, type Histogram, type MediaFile, type MediaTable } from "@/data/experiments/media";
import { formatNumber, plural } from "@/data/format/numbers";
import { Button } from "@/ui/button/Button";
import { PlainTable } from "@/ui/layout/Card";


/** Rows of a table that are drawn at a time. */
const ROWS = 100;
/** Columns of a table that are drawn. */
const COLUMNS = 50;
/** Characters of a text that are drawn. */
const CHARACTERS = 100_000;
const PICTURE = { width: "100%", height: 200, objectFit: "contain", imageRendering: "pixelated", background: "var(--bg-3)" } as const;
const TEXT = { maxHeight: 240, overflow: "auto", whiteSpace: "pre-wrap" } as const;

interface Value {
  trialId: number;
  kind: string;
  name: string;
  file: MediaFile;
}

export function MediaValue({ trialId, kind, name, file }: Value) {
  const address = mediaAddress(trialId, file.path);
  if (kind === "image") return <Image key={file.path} address={address} name={name} />;
  if (kind === "audio") return <audio key={file.path} style={{ width: "100%" }} controls preload="none" src={address} aria-label={name} />;
  return <FromText trialId={trialId} kind={kind} name={name} file={file} />;
}

function Image({ address, name }: { address: string; name: string }) {
  const [failed, setFailed] = useState(false);
  return failed ? (
    <Unreadable />
  ) : (
    <a href={address} target="_blank" rel="noreferrer" aria-label={`${name} in full size`}>
      <img style={PICTURE} src={address} alt={name} loading="lazy" onError={() => setFailed(true)} />
    </a>
  );
}

function FromText({ trialId, kind, name, file }: Value) {
  const query = useMediaText(trialId, file.path);
  if (query.error) return <Unreadable>{query.error.message}</Unreadable>;
  if (query.data === undefined) return null;
  if (kind === "text")
    return (
      <pre className="mono" style={TEXT} tabIndex={0} aria-label={name}>
        {query.data.slice(0, CHARACTERS)}
      </pre>
    );
  if (kind === "table") {
    const table = tableOf(query.data);
    return table ? <Table table={table} name={name} /> : <Unreadable />;
  }
  const histogram = histogramOf(query.data);
  return histogram ? <Bars histogram={histogram} name={name} /> : <Unreadable />;
}

function Table({ table, name }: { table: MediaTable; name: string }) {
  const [drawn, setDrawn] = useState(ROWS);
  const left = table.rows.length - drawn;
  return (
    <>
      <div style={TEXT}>
        <PlainTable label={name} columns={table.columns.slice(0, COLUMNS)}>
          {table.rows.slice(0, drawn).map((row, index) => (
            <tr key={index}>
              {row.slice(0, COLUMNS).map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </PlainTable>
      </div>
      {table.columns.length > COLUMNS && <div className="hint">{COLUMNS} of {table.columns.length} columns</div>}
      {left > 0 && (
        <Button small onClick={() => setDrawn(drawn + ROWS)}>
          Show {Math.min(ROWS, left)} more of {plural(table.rows.length, "row")}
        </Button>
      )}
    </>
  );
}

function Bars({ histogram, name }: { histogram: Histogram; name: string }) {
  const { edges, counts, notFinite } = histogram;
  const most = Math.max(...counts, 1);
  const total = counts.reduce((sum, each) => sum + each, 0);
  const range = `${formatNumber(edges[0])} to ${formatNumber(edges.at(-1))}`;
  return (
    <>
      <svg
        style={PICTURE}
        viewBox={`0 0 ${counts.length} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: ${plural(total, "value")} from ${range}`}
      >
        {counts.map((count, place) => {
          const height = (100 * count) / most;
          return (
            <rect key={place} x={place} y={100 - height} width={0.95} height={height} fill="var(--accent)">
              <title>{`${formatNumber(edges[place])} to ${formatNumber(edges[place + 1])}: ${formatNumber(count)}`}</title>
            </rect>
          );
        })}
      </svg>
      <div className="row hint" style={{ justifyContent: "space-between" }}>
        <span>{formatNumber(edges[0])}</span>
        <span>
          {plural(total, "value")}
          {notFinite > 0 && `, ${formatNumber(notFinite)} not finite`}
        </span>
        <span>{formatNumber(edges.at(-1))}</span>
      </div>
    </>
  );
}

function Unreadable({ children }: { children?: ReactNode }) {
  return <div className="hint">{children ?? "This file cannot be shown."}</div>;
}
