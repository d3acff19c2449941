import { useEffect, useState } from "react";

import { TextField } from "@/ui/field/Field";
import { Dialog } from "@/ui/overlay/Dialog";

import { findShortcuts } from "./shortcutList";
import { ShortcutList } from "./ShortcutList";

/** The list of the keys; `?` and the palette open it with the event `det:shortcuts`. */
export function Shortcuts() {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  useEffect(() => {
    const show = () => {
      setText("");
      setOpen(true);
    };
    addEventListener("det:shortcuts", show);
    return () => removeEventListener("det:shortcuts", show);
  }, []);
  const found = findShortcuts(text);
  return (
    <Dialog open={open} onClose={() => setOpen(false)} title="Keyboard shortcuts" width={640}>
      <div className="stack">
        <TextField autoFocus label="Find a shortcut" hideLabel placeholder="Find a shortcut" value={text} onChange={(event) => setText(event.target.value)} />
        {found.length > 0 ? <ShortcutList groups={found} /> : <p className="hint">No shortcut has “{text}” in its name.</p>}
      </div>
    </Dialog>
  );
}
