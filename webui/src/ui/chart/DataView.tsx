/** The drawn data as a table, for those who do not read charts. */
import { formatNumber, plural } from "@/data/format/numbers";

import { PlainTable } from "../layout/Card";
import styles from "./Chart.module.css";
import { dataTable } from "./export/table";
import { placeText } from "./math/summary";
import type { Trace } from "./math/trace";
import type { Range, XAxis } from "./types";

const MAX_ROWS = 500;

export default function DataView({
  title,
  traces,
  axis,
  within,
}: {
  title: string;
  traces: readonly Trace[];
  axis: XAxis;
  within: Range;
}) {
  const { columns, rows } = dataTable(traces, axis, within);
  const step = Math.max(1, Math.ceil(rows.length / MAX_ROWS));
  const shown = rows.filter((_, i) => i % step === 0 || i === rows.length - 1);
  return (
    <div className={styles.dataView}>
      <PlainTable label={`${title}, data`} columns={columns}>
        {shown.map((row) => (
          <tr key={row[0]}>
            <th scope="row" className="number">
              {placeText(row[0] as number, axis)}
            </th>
            {row.slice(1).map((value, i) => (
              <td key={i} className="number" title={value === undefined ? undefined : String(value)}>
                {value === undefined ? "" : formatNumber(value)}
              </td>
            ))}
          </tr>
        ))}
      </PlainTable>
      {step > 1 && (
        <p className="hint">
          One of {step} rows is shown, of {plural(rows.length, "row")}. The CSV file has all.
        </p>
      )}
    </div>
  );
}
