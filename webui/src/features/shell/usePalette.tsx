import { useCallback, useState } from "react";

import { later } from "@/ui/later";

const Palette = later(() => import("./Palette"));

/** The command palette is loaded when it is first opened. */
export function usePaletteHost() {
  const [isOpen, setOpen] = useState(false);
  const open = useCallback(() => setOpen(true), []);
  const element = isOpen ? (
    <Palette onClose={() => setOpen(false)} />
  ) : null;
  return { open, element };
}
