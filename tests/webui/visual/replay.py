"""A web UI whose master is a recording: the same answers at the same instant, on every machine.

Pages and scripts are those of the build. Answers of the API come from `recorded.json.gz`, which
`python -m tests.webui.visual.record` makes from a real cluster. The clock stands at the instant of
the recording, and the live channel is open and silent.
"""

from __future__ import annotations

import gzip
import json
import re
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Request, Route, WebSocketRoute, expect
from tests.webui.chromium import BUILT, LIMIT_MS

RECORDED = Path(__file__).parent / "recorded.json.gz"
ORIGIN = "http://determined.test"
"""Never asked for: every request is answered here."""
ACTIVITY = "/api/v1/users/activity"
"""The page says what was visited; no picture depends on the answer."""
ASSETS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
STILL = """
*, *::before, *::after { font-family: "DejaVu Sans", sans-serif !important;
  transition: none !important; animation: none !important; caret-color: transparent !important; }
code, pre, kbd, [class*=mono], [class*=row_], [class*=cm-] { font-family: "DejaVu Sans Mono",
  monospace !important; }
"""


@dataclass
class Recording:
    """Answers of a master by request."""

    at_ms: int
    """The instant, since the epoch."""
    ids: dict[str, Any]
    """Of the things that the screens show."""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def load(cls) -> Recording:
        """The one of the repository."""
        return cls(**json.loads(gzip.decompress(RECORDED.read_bytes())))

    def save(self) -> None:
        """Replace the one of the repository."""
        members = {"at_ms": self.at_ms, "ids": self.ids, "answers": self.answers}
        text = json.dumps(members, sort_keys=True, separators=(",", ":"))
        RECORDED.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


class Replay:
    """One page in front of a recording, or of the master that is being recorded."""

    def __init__(
        self,
        browser: Browser,
        recording: Recording,
        *,
        master: str = "",
        token: str = "",
        **options: Any,
    ) -> None:
        """
        Args:
            browser: started.
            recording: what answers, or what gets the answers of `master`.
            master: the address of a master that is recorded.
            token: of a session there.
            options: of the context, such as `viewport`.
        """
        self._recording, self._master, self._token = recording, master, token
        self.missing: list[str] = []
        """Requests that the recording has no answer for."""
        self.context = browser.new_context(
            reduced_motion="reduce", locale="en-US", timezone_id="UTC", **options
        )
        self.context.set_default_timeout(LIMIT_MS)
        self.page: Page = self.context.new_page()
        self.page.clock.set_fixed_time(recording.at_ms / 1000)
        self.page.route(f"{ORIGIN}/**", self._answer)
        self.page.route_web_socket(re.compile("/live$"), _silent)

    def goto(self, path: str) -> Page:
        """Load a page, wait until it is drawn, and let nothing on it move."""
        self.page.goto(f"{ORIGIN}/det{path}")
        self.page.get_by_role("heading", level=1).first.wait_for()
        self.page.add_style_tag(content=STILL)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until nothing is loading."""
        self.page.wait_for_load_state("networkidle")
        expect(self.page.locator("[data-loading]")).to_have_count(0)

    def _answer(self, route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN)
        if path.startswith("/det"):
            _file(route, path)
            return
        if path == ACTIVITY:  # comes whenever the page has time for it
            route.fulfill(content_type="application/json", body="{}")
            return
        key = f"{route.request.method} {path}"
        if route.request.post_data:
            key += f" {route.request.post_data}"
        if self._master:
            self._recording.answers[key] = self._ask(route.request, path)
        found = self._recording.answers.get(key)
        if found is None:
            self.missing.append(key[:300])
            route.abort()
            return
        route.fulfill(status=found["status"], content_type=found["type"], body=found["body"])

    def _ask(self, request: Request, path: str) -> dict[str, Any]:
        """The answer of the master that is recorded."""
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        body = request.post_data_buffer
        asked = urllib.request.Request(
            f"{self._master}{path}", body, headers, method=request.method
        )
        try:
            with urllib.request.urlopen(asked, timeout=LIMIT_MS / 1000) as answer:
                return _entry(answer, answer.status)
        except urllib.error.HTTPError as refusal:
            with refusal:
                return _entry(refusal, refusal.code)


def _entry(answer: Any, status: int) -> dict[str, Any]:
    kind = answer.headers.get("content-type", "")
    return {"status": status, "type": kind, "body": answer.read().decode()}


def _file(route: Route, path: str) -> None:
    name = path.removeprefix("/det/").partition("?")[0]
    file = BUILT.parent / name
    if file.suffix in ASSETS and file.is_file():
        route.fulfill(body=file.read_bytes(), content_type=ASSETS[file.suffix])
        return
    page = BUILT.read_text().replace('"./assets/', '"/det/assets/')
    route.fulfill(body=page, content_type="text/html")


def _silent(_socket: WebSocketRoute) -> None:
    """An open connection on which nothing happens."""
