"""A signed-in person in front of a browser: profiles, tabs, and their processor time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cluster import PASSWORD, Cluster

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, CDPSession, Page

PROBE = (Path(__file__).parent / "probe.js").read_text()
SIZE = {"width": 1280, "height": 800}
LIMIT_MS = 60_000


class Visit:
    """A browser with profiles in which the admin is signed in."""

    def __init__(self, browser: Browser, cluster: Cluster) -> None:
        self.cluster = cluster
        self._browser = browser

    def profile(self, **options: Any) -> BrowserContext:
        """A profile with an empty cache."""
        context = self._browser.new_context(**{"viewport": SIZE, **options})
        context.set_default_timeout(LIMIT_MS)
        context.add_init_script(PROBE)
        answer = context.request.post(
            f"{self.cluster.address}/api/v1/auth/login",
            data={"username": "admin", "password": PASSWORD},
        )
        if not answer.ok:
            raise RuntimeError(f"the browser cannot sign in: {answer.status} {answer.text()}")
        return context

    def tab(self, context: BrowserContext) -> Tab:
        """An empty tab."""
        return Tab(context.new_page(), f"{self.cluster.address}/det")

    def cpu_s(self) -> dict[str, float]:
        """Seconds of processor time by kind of process; `renderer` is what tabs take."""
        session = self._browser.new_browser_cdp_session()
        found: dict[str, float] = {}
        for process in session.send("SystemInfo.getProcessInfo")["processInfo"]:
            kind = process["type"]
            found[kind] = found.get(kind, 0.0) + process["cpuTime"]
        session.detach()
        return found


class Tab:
    """One page, measured by `probe.js` inside of it."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self._base = base
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def load(self, path: str, claim: str) -> float:
        """Load an address; milliseconds from the navigation to the frame that shows the claim.

        Args:
            path: below `/det`.
            claim: an expression in JavaScript.
        """
        self.page.goto(self._base + path, wait_until="commit")
        return self.shown_at(claim)

    def route(self, path: str, claim: str) -> float:
        """Go to an address within the page; milliseconds until the claim is shown."""
        return float(self.page.evaluate(f"__probe.route({self._base + path!r}, () => {claim})"))

    def shown_at(self, claim: str) -> float:
        """Milliseconds from the navigation to the end of the first frame that shows the claim."""
        try:
            return float(self.page.evaluate(f"__probe.until(() => {claim})"))
        except Exception as error:
            shown = self.page.evaluate("document.body.innerText.slice(0, 600)")
            raise RuntimeError(f"{self.page.url}: {error}; it shows {shown!r}") from error

    def facts(self) -> dict[str, Any]:
        """Of the last load: requests, bytes, and what kept the page busy."""
        found: dict[str, Any] = self.page.evaluate("__probe.facts()")
        return found

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        return self.page.evaluate(expression)

    def devtools(self) -> CDPSession:
        """The DevTools protocol of this page."""
        return self.page.context.new_cdp_session(self.page)

    def forget_files(self) -> None:
        """Empty the cache, as it is at a first visit. The session stays."""
        self.devtools().send("Network.clearBrowserCache")

    def close(self) -> None:
        """Close it.

        Raises:
            RuntimeError: a script of the page failed.
        """
        self.page.close()
        if self.errors:
            raise RuntimeError(f"a script of the page failed: {self.errors[0]}")
