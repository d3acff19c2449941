/** Icons: strokes of 1.5 px on a 16 px grid, drawn here so that no icon font is loaded. */
const PATHS = {
  home: "M2.5 7.5 8 3l5.5 4.5M4 6.8V13h3V9.5h2V13h3V6.8",
  runs: "M2.5 4h11M2.5 8h11M2.5 12h7",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5 14 14",
  folder: "M2 4.5h4l1.5 2H14v6.5H2z",
  box: "M8 2 14 5v6l-6 3-6-3V5zM2 5l6 3 6-3M8 8v6",
  terminal: "M2 3h12v10H2zM4.5 6 7 8l-2.5 2M8.5 10.5h3",
  chip: "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  template: "M2.5 2.5h11v11h-11zM2.5 6h11M6 6v7.5",
  webhook: "M5.5 5.5a2.5 2.5 0 1 1 4.3 1.7L12 11M4 9a2.5 2.5 0 1 0 2.6 3H11M8 5.5 6 9.3",
  shield: "M8 2 13 4v4c0 3-2 5-5 6-3-1-5-3-5-6V4z",
  users: "M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 3.3a2.5 2.5 0 0 1 0 4.4M12 9.8c1.5.5 2.5 1.8 2.5 3.7",
  key: "M5.5 10.5a3 3 0 1 1 2.6-4.5H14v2.5h-1.5V10H10V8.5H8.1A3 3 0 0 1 5.5 10.5ZM5 7.5h.01",
  book: "M3 2.5h8a2 2 0 0 1 2 2v9H5a2 2 0 0 1-2-2zM3 11.5a2 2 0 0 1 2-2h8",
  settings: "M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M12.6 3.4l-1.4 1.4M4.8 11.2l-1.4 1.4",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  chevron: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  more: "M8 3.5h.01M8 8h.01M8 12.5h.01",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3v10l8-5z",
  stop: "M4 4h8v8H4z",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  link: "M6.5 9.5l3-3M7 4.5l1-1a3 3 0 0 1 4.5 4.5l-1 1M9 11.5l-1 1A3 3 0 0 1 3.5 8l1-1",
  download: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M2.5 13.5h11",
  filter: "M2.5 3.5h11L9.5 8.5v4l-3 1v-5z",
  sort: "M5 3v10M2.5 10.5 5 13l2.5-2.5M11 13V3M8.5 5.5 11 3l2.5 2.5",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  fork: "M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM11.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM8 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4.5 5.5v1.5L8 9l3.5-2V5.5M8 9v1.5",
  archive: "M2 3h12v3H2zM3 6v7h10V6M6.5 9h3",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9",
  edit: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z",
  move: "M2 8h12M10.5 4.5 14 8l-3.5 3.5",
  pin: "M6 2h4l-.5 4L12 9H4l2.5-3zM8 9v5",
  refresh: "M13 5A5.5 5.5 0 1 0 13.5 9M13.5 2.5V5.5h-3",
  warning: "M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 12h.01",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 7.5V11M8 5.2h.01",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.3 1.5",
  chart: "M2.5 2.5v11h11M4.5 10.5 7 7.5l2 1.5 3.5-5",
  board: "M2.5 2.5h11v11h-11zM5 5h6M5 11V9M8 11V7.5M11 11V8.5",
  bars: "M3 13V8M8 13V3M13 13v-6.5",
  log: "M3 2.5h7l3 3v8H3zM5.5 7h5M5.5 9.5h5M5.5 5h2",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  server: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  external: "M6.5 3H3v10h10V9.5M9 3h4v4M13 3 7.5 8.5",
  sidebar: "M2.5 3h11v10h-11zM6.5 3v10",
  logout: "M6.5 2.5H3v11h3.5M10.5 5 13.5 8l-3 3M13.5 8H6.5",
  bell: "M4 11V7.5a4 4 0 0 1 8 0V11l1 1.5H3zM6.5 14h3",
  tag: "M2.5 2.5h5l6 6-5 5-6-6zM5.2 5.2h.01",
  flag: "M4 14V2.5h8l-2 3 2 3H4",
  zoom: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5 14 14M5 7h4M7 5v4",
  maximize: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative by default; `label` gives it a name where no text stands beside it. */
export function Icon({
  name,
  size = 16,
  label,
}: {
  name: IconName;
  size?: number;
  label?: string;
}) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      style={{ flex: "none" }}
      {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
