"""Changing the page without loading the document again, and waiting until it is drawn."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page

LIMIT_MS = 60_000
"""A deadline is no claim: a busy machine may take this long."""
TRACKER = """(() => {
  window.openRequests = 0;
  const send = window.fetch;
  window.fetch = (...request) => {
    // A log that is followed stays open for as long as the page.
    if (/[?&]follow=true/.test(request[0]?.url ?? request[0])) return send(...request);
    window.openRequests += 1;
    return send(...request).finally(() => (window.openRequests -= 1));
  };
})()"""
MOVE = """(to) => {
  history.pushState(null, "", to);
  dispatchEvent(new PopStateEvent("popstate", { state: null }));
}"""
SETTLE = """(limit) => new Promise((resolve) => {
  const end = performance.now() + limit;
  const wanted = () => decodeURI(location.pathname.slice(location.pathname.indexOf("/det") + 4));
  const missing = () => {
    const main = document.querySelector("main");
    if (!main) return "the page has no main element";
    const at = main.dataset.path;
    if (at !== undefined && decodeURI(at) !== wanted()) return `the page still shows ${at}`;
    if (!main.querySelector("h1")) return "the page has no heading";
    if (window.openRequests > 0) return `${window.openRequests} requests are open`;
    const busy = document.querySelector(
      '[role="status"][aria-label^="Loading"], [data-loading], main [aria-busy="true"]',
    );
    return busy ? `it loads: ${busy.outerHTML.slice(0, 200)}` : "";
  };
  let still = 0;
  const look = () => {
    const reason = missing();
    still = reason ? 0 : still + 1;
    if (still >= 4) resolve("");
    else if (performance.now() > end) resolve(reason || "it changes all the time");
    else requestAnimationFrame(look);
  };
  look();
})"""


def track(context: BrowserContext) -> None:
    """Count the requests of all pages that the context opens from now on."""
    context.add_init_script(TRACKER)


def settle(page: Page) -> None:
    """Wait until the page shows its address, has its data and stands still."""
    reason = page.evaluate(SETTLE, LIMIT_MS)
    assert not reason, f"{page.url} is not drawn: {reason}"


def move(page: Page, path: str) -> None:
    """Open a page below `/det` as a link would."""
    page.evaluate(MOVE, f"/det{path}")
    settle(page)
