import { lazy, Suspense, useCallback, useState } from "react";

const Palette = lazy(() => import("./Palette"));

/** The command palette is loaded when it is first opened. */
export function usePaletteHost() {
  const [isOpen, setOpen] = useState(false);
  const open = useCallback(() => setOpen(true), []);
  const element = isOpen ? (
    <Suspense fallback={null}>
      <Palette onClose={() => setOpen(false)} />
    </Suspense>
  ) : null;
  return { open, element };
}
