import { useMemo, useState } from "react";
import { useNavigate } from "react-router";

import { Dialog } from "@/ui/overlay/Dialog";
import { Icon } from "@/ui/icons/Icon";
import { plural } from "@/data/format/numbers";

import styles from "./Palette.module.css";
import { rank, usePaletteEntries, type Entry } from "./paletteEntries";

const MAX_SHOWN = 40;

/** Fuzzy search over pages, workspaces, projects, runs, models, users and actions. */
export default function Palette({ onClose }: { onClose(): void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const navigate = useNavigate();
  const entries = usePaletteEntries(text);
  const shown = useMemo(() => rank(entries, text).slice(0, MAX_SHOWN), [entries, text]);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    if (entry.to) void navigate(entry.to);
    else entry.act?.();
  };
  return (
    <Dialog open onClose={onClose} title="Search or jump to" width={640}>
      <input
        className={styles.input}
        aria-label="Search"
        role="combobox"
        aria-expanded={shown.length > 0}
        aria-controls="palette-list"
        aria-activedescendant={shown[at] ? `palette-${at}` : undefined}
        placeholder="A page, an experiment, a workspace … (> actions, # ids, @ users)"
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt((now) => Math.min(now + 1, shown.length - 1));
          else if (event.key === "ArrowUp") setAt((now) => Math.max(now - 1, 0));
          else if (event.key === "Enter") run(shown[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div className="visually-hidden" role="status">
        {plural(shown.length, "result")}
      </div>
      <div id="palette-list" role="listbox" aria-label="Results" className={styles.list} hidden={shown.length === 0}>
        {shown.map((entry, index) => (
          <div
            key={`${entry.kind}:${entry.label}:${entry.to ?? ""}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            className={styles.option}
            onMouseMove={() => setAt(index)}
            onClick={() => run(entry)}
          >
            <Icon name={entry.icon} />
            <span className="truncate">{entry.label}</span>
            <span className={styles.kind}>{entry.kind}</span>
          </div>
        ))}
      </div>
      {shown.length === 0 && <p className={`hint ${styles.none ?? ""}`}>Nothing matches “{text}”.</p>}
    </Dialog>
  );
}
