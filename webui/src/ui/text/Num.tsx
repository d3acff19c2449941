import { formatNumber } from "@/data/format/numbers";

/** A number with four significant digits; the full value is its title. */
export function Num({ value }: { value: number | null | undefined }) {
  const full = value === null || value === undefined ? undefined : String(value);
  return (
    <span className="number" title={full}>
      {formatNumber(value)}
    </span>
  );
}
