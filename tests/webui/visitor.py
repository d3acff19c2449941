"""A person in front of a browser: pages of one context, and what went wrong on them."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
)
from tests.e2e.cluster_api import PASSWORD
from tests.webui.chromium import LIMIT_MS
from tests.webui.contract import complaints

NOT_FAULTS = re.compile(r"Failed to load resource|WebSocket connection to|net::ERR_|EventSource")
"""The browser itself writes these for refused requests, which a page may expect."""


class Visitor:
    """One signed-in browser context. Its first page is `page`."""

    def __init__(self, browser: Browser, address: str, user: str | None, **options: Any) -> None:
        """
        Args:
            browser: started.
            address: of the master.
            user: signed in with the cookie that a login gives; none for a person without session.
            options: of the context, such as `color_scheme` and `viewport`.
        """
        self.address = address
        self.faults: list[str] = []
        """What no journey expects: errors of scripts, answers of 5xx, requests beside the API."""
        self.expects_outage = False
        """Whether the master is away for a while: failed requests are no faults then."""
        size = {"width": 1280, "height": 800}
        self.context: BrowserContext = browser.new_context(**{"viewport": size, **options})
        self.context.set_default_timeout(LIMIT_MS)
        self.context.on("request", self._look_at_request)
        self.context.on("response", self._look_at_response)
        if user is not None:
            self.sign_in(user)
        self.page = self.open()

    def sign_in(self, user: str, password: str = PASSWORD) -> None:
        """Take the cookie of a new session."""
        answer = self.context.request.post(
            f"{self.address}/api/v1/auth/login", data={"username": user, "password": password}
        )
        assert answer.ok, answer.text()

    def open(self, path: str | None = None) -> Page:
        """Another page of the same person."""
        page = self.context.new_page()
        page.on("console", self._look_at_message)
        page.on("pageerror", lambda error: self.faults.append(f"error of a script: {error}"))
        if path is not None:
            page.goto(self.url(path))
        return page

    def url(self, path: str) -> str:
        """The address of a page below `/det`."""
        return f"{self.address}/det{path}"

    def goto(self, path: str) -> Page:
        """Load a page and wait for its heading."""
        self.page.goto(self.url(path))
        self.page.get_by_role("heading", level=1).first.wait_for()
        return self.page

    def close(self) -> None:
        """End the context."""
        self.context.close()

    def _look_at_request(self, request: Request) -> None:
        if request.url.startswith(self.address):
            body = request.post_data if request.method in ("POST", "PUT", "PATCH") else None
            self.faults += complaints(request.method, request.url, body)

    def _look_at_response(self, response: Response) -> None:
        if response.status >= 500 and not self.expects_outage:
            self.faults.append(f"{response.status} for {response.request.method} {response.url}")

    def _look_at_message(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not NOT_FAULTS.search(message.text):
            self.faults.append(f"console: {message.text}")
