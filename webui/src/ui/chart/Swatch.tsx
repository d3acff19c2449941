/** A short piece of a line, with its dashes. */
export function Swatch({ colour, dash }: { colour: string; dash: readonly number[] }) {
  return (
    <svg width={22} height={8} style={{ flex: "none" }} aria-hidden>
      <line x1={0} y1={4} x2={22} y2={4} stroke={colour} strokeWidth={2.5} strokeDasharray={dash.join(" ")} />
    </svg>
  );
}
