"""Webhooks: made on the page, tested, delivered with a signature, changed, deleted."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import Cluster, until
from tests.webui.journeys.conftest import SIGNING_KEY
from tests.webui.scene import new_name, new_place
from tests.webui.tables import act_on, confirm, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-ruled")]


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps what is posted to it, if its signature is right."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 200
        self.events: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/hook"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        stamp = self.headers["X-Determined-AI-Signature-Timestamp"]
        signed = f"{stamp},".encode() + body
        wanted = hmac.new(SIGNING_KEY.encode(), signed, hashlib.sha256).hexdigest()
        if wanted == self.headers["X-Determined-AI-Signature"] and self.server.status == 200:
            self.server.events.append({"path": self.path, **json.loads(body)})
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_a_webhook_is_made_tested_delivered_changed_and_deleted(
    ruled: Cluster, receiver: Receiver, visit: Any
) -> None:
    place = new_place(ruled, "hooks")
    name = new_name("hook")
    admin = visit(ruled.address)
    page: Page = admin.goto("/webhooks")
    page.get_by_role("button", name="New webhook").click()
    dialog = page.get_by_role("dialog", name="New webhook")
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_label("URL").fill("ftp://nowhere")
    create = dialog.get_by_role("button", name="Create")
    expect(create).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("URL").fill(receiver.url)
    dialog.get_by_label("Scope", exact=True).select_option(label=place.name)
    dialog.get_by_label("An experiment completes").uncheck()
    create.click()
    row = row_of(page, "Webhooks", name)
    expect(row).to_contain_text("Failed")
    expect(row).to_contain_text(place.name)
    [stored] = [w for w in ruled.get("/api/v1/webhooks")["webhooks"] if w["name"] == name]
    assert (stored["url"], stored["workspaceId"]) == (receiver.url, place.workspace)

    act_on(page, name, "Send a test")
    expect(page.get_by_role("status").filter(has_text=f"{name} took the test")).to_be_visible()
    assert len(receiver.events) == 1
    receiver.status = 410
    act_on(page, name, "Send a test")
    refusal = page.get_by_role("alert").filter(has_text=f"The test of {name} failed")
    expect(refusal).to_contain_text("410")
    receiver.status = 200

    act_on(page, name, "Edit the URL")
    dialog = page.get_by_role("dialog", name=f"Edit webhook {name}")
    dialog.get_by_label("URL").fill(f"{receiver.url}/other")
    dialog.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("/hook/other")
    experiment = place.submit("raise SystemExit(3)")
    assert ruled.wait(experiment) == "ERROR"
    until(lambda: len(receiver.events) == 2, what="the delivery")
    event = receiver.events[1]
    assert event["path"] == "/hook/other"
    assert event["event_data"]["experiment"]["id"] == experiment
    assert event["event_data"]["experiment"]["state"] == "ERROR"

    act_on(page, name, "Delete")
    confirm(page, "Delete")
    expect(row).to_have_count(0)
    assert name not in [each["name"] for each in ruled.get("/api/v1/webhooks")["webhooks"]]
