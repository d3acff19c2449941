"""The master is away for a while, WebSockets do not pass, event streams neither."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect
from tests.e2e.cluster import until
from tests.e2e.conftest import running
from tests.webui.chromium import reason_to_skip
from tests.webui.scene import NAPS, Place, gate, new_place, stream

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.kill,
]

EVENTS = "/api/ui/v1/live/events"
PRINTS = """
import os, time
print("ready", flush=True)
n = 0
while not os.path.exists(os.environ["GATE"]):
    print(f"counted line {n} ok", flush=True)
    n += 1
    time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    missing = reason_to_skip()
    if missing:
        pytest.skip(missing)
    with running() as cluster:
        yield new_place(cluster, "outages")


def test_an_outage_loses_no_typed_text_and_no_line(place: Place, visit: Any) -> None:
    cluster = place.cluster
    opened, changes = gate(cluster)
    experiment = place.submit(PRINTS, **changes)
    trial = place.trial(experiment)["id"]
    person = visit(cluster.address)
    page: Page = person.goto(f"/experiments/{experiment}/logs")
    notes = person.open(f"/experiments/{experiment}/notes")
    notes.get_by_role("button", name="Edit").click()
    notes.get_by_label("Notes (Markdown)").fill("typed before the outage")
    shown = page.get_by_text(re.compile(r"^counted line \d+ ok$"))
    expect(shown.first).to_be_visible(timeout=60_000)

    person.expects_outage = True
    cluster.kill("master")
    for each in (page, notes):
        banner = each.get_by_role("status").filter(has_text="The master cannot be reached.")
        expect(banner).to_be_visible()
        # The age grows from the last sign of the master.
        expect(banner).to_contain_text(re.compile(r"The data is ([6-9]|\d\d) s old"))
    expect(shown.first).to_be_visible()  # stale, not gone
    notes.get_by_label("Notes (Markdown)").press_sequentially(", and during it")
    notes.get_by_role("button", name="Save").click()
    refusal = notes.get_by_role("alert").filter(has_text="The notes are not saved")
    expect(refusal).to_be_visible()
    expect(notes.get_by_label("Notes (Markdown)")).to_have_value(
        re.compile("^typed .* during it$")
    )

    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    cluster.start_master()
    for each in (page, notes):
        banner = each.get_by_role("status").filter(has_text="The master cannot be reached.")
        expect(banner).to_be_hidden(timeout=60_000)
    person.expects_outage = False
    notes.get_by_role("button", name="Save").click()
    expect(notes.get_by_text("typed before the outage, and during it")).to_be_visible()
    opened.touch()
    assert cluster.wait(experiment) == "COMPLETED"
    path = f"/api/v1/trials/{trial}/logs"
    written = [x for x in stream(cluster, path) if "counted line" in x["log"]]
    page.get_by_label("Search the log").fill("counted line")
    counted = page.get_by_role("toolbar", name="Log").get_by_role("status")
    expect(counted).to_have_text(re.compile(f" of {len(written):,}$"), timeout=60_000)
    # By its cursor: the log was not read again.
    assert [url for url in asked if "/logs?" in url] == []


def close(socket: WebSocketRoute) -> None:
    socket.close()


def abort(route: Route) -> None:
    route.abort()


def changes_seen(
    place: Place, page: Page, url: Callable[[str], str], channel: str | None = None
) -> float:
    """Seconds from a change of state to the sight of it, once the channel is open."""
    experiment = place.submit(NAPS)
    if channel is None:
        page.goto(url(f"/experiments/{experiment}/overview"))
    else:
        with page.expect_response(lambda answer: channel in answer.url):
            page.goto(url(f"/experiments/{experiment}/overview"))
    page.get_by_role("button", name="Pause").wait_for()
    until(lambda: place.cluster.state(experiment) == "RUNNING", what="its start")
    place.cluster.post(f"/api/v1/experiments/{experiment}/kill")
    until(lambda: place.cluster.state(experiment) == "CANCELED", what="its end")
    begun = time.monotonic()
    expect(page.get_by_text("Canceled", exact=True).first).to_be_visible()
    return time.monotonic() - begun


def test_without_websockets_changes_come_as_events(place: Place, visit: Any) -> None:
    person = visit(place.cluster.address)
    person.context.route_web_socket(re.compile("/live$"), close)
    with person.page.expect_response(lambda answer: EVENTS in answer.url) as waiting:
        person.goto("/dashboard")
    assert waiting.value.headers["content-type"] == "text/event-stream"
    assert changes_seen(place, person.page, person.url, EVENTS) < 2


def test_without_both_the_page_polls(place: Place, visit: Any) -> None:
    person = visit(place.cluster.address)
    person.context.route_web_socket(re.compile("/live$"), close)
    person.context.route(f"**{EVENTS}*", abort)
    person.goto("/dashboard")
    assert changes_seen(place, person.page, person.url) < 15
