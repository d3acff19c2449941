/** Work that nothing on the page waits for. */

/** The list of a page has its first rows by then, on most machines. */
const PAUSE_MS = 1000;

/**
 * Calls back a while later. The result calls back at once, where that is still due: to leave the
 * page does not lose the work.
 */
export function whenIdle(then: () => void): () => void {
  let isDue = true;
  const act = () => {
    if (isDue) then();
    isDue = false;
    clearTimeout(timer);
    removeEventListener("pagehide", act);
  };
  const timer = setTimeout(act, PAUSE_MS);
  addEventListener("pagehide", act);
  return act;
}
