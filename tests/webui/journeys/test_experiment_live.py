"""A search that is watched from its start to its end, without a reload."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, WebSocket, expect
from tests.e2e.cluster import until
from tests.webui.charts import chart
from tests.webui.conftest import Site
from tests.webui.seed_small import MODEL, search
from tests.webui.work import new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

STARTS_MS = 120_000
"""A deadline is no claim: a busy machine takes long to start a process."""
STEPS = 2_000


def topics_of(page: Page) -> list[str]:
    """A list that grows with each live topic that the page subscribes to."""
    found: list[str] = []

    def on_frame(text: str | bytes) -> None:
        message = json.loads(text)
        if message["op"] == "subscribe":
            found.append(message["topic"])

    def on_socket(socket: WebSocket) -> None:
        socket.on("framesent", on_frame)

    page.on("websocket", on_socket)
    return found


def state_of(page: Page) -> Locator:
    """The badge beside the heading."""
    return page.get_by_role("heading", level=1).locator("..")


def grows(count: Any) -> None:
    """Wait until a number has become greater."""
    before = until(count, what="a first value")
    until(lambda: count() > before, what="a greater value")


def tab(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Sections").get_by_role("link", name=name).click()


def test_a_search_grows_while_it_is_watched(site: Site, admin: Any) -> None:
    cluster = site.cluster
    place = new_place(cluster, "live")
    config = search("watched", place.project_name, place.workspace_name, 4)
    config["hyperparameters"] |= {"steps": STEPS, "pause_s": 0.1}
    files = {"train.py": (Path(MODEL) / "train.py").read_text()}
    number = cluster.submit(config, files, activate=False)
    page = admin.goto(f"/experiments/{number}/trials")
    page.evaluate("window.isSamePage = true")
    expect(state_of(page)).to_contain_text("Paused")
    page.get_by_role("button", name="Resume").click()
    rows = page.get_by_role("region", name="Trials").locator("tbody tr")
    expect(rows.filter(has_text="Running")).to_have_count(2, timeout=STARTS_MS)
    expect(state_of(page)).to_contain_text("Running")
    batches = rows.first.get_by_role("cell").nth(5)
    grows(lambda: int(batches.inner_text().replace(",", "").replace("\u2013", "0")))

    tab(page, "Metrics")
    lines = chart(page, "validation.validation_loss").get_by_role("list", name="Lines")
    expect(lines.get_by_role("button")).to_have_count(2)
    drawn = chart(page, "validation.validation_loss").get_by_role("img").first
    before = drawn.get_attribute("aria-label") or ""
    expect(drawn).not_to_have_attribute("aria-label", before)

    cluster.post(f"/api/v1/trials/{cluster.trials(number)[0]['id']}/kill")
    tab(page, "Trials")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="Running")).to_have_count(2, timeout=STARTS_MS)

    page.get_by_role("button", name="Pause").click()
    expect(state_of(page)).to_contain_text("Paused")
    assert cluster.state(number) == "PAUSED"
    page.get_by_role("button", name="Resume").click()
    expect(state_of(page)).to_contain_text(re.compile("Running|Queued|Starting"))
    assert cluster.state(number) != "PAUSED"
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(state_of(page)).to_contain_text("Canceled", timeout=STARTS_MS)
    assert cluster.state(number) == "CANCELED"
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert page.evaluate("window.isSamePage")


def test_the_log_of_a_run_grows_while_it_is_watched(site: Site, admin: Any) -> None:
    number = site.ids["experiments"]["running"]
    page = admin.goto(f"/experiments/{number}/logs")
    last = re.compile(r"(?:batch|step) (\d+)")

    def newest(text: Locator) -> int:
        return max((int(found) for found in last.findall(text.inner_text())), default=0)

    log = page.get_by_role("main")
    grows(lambda: newest(log))
    tab(page, "Overview")
    lines = page.get_by_role("list", name="Last lines of the log")
    grows(lambda: newest(lines))
    tab(page, "Metrics")
    line = page.get_by_role("link", name=re.compile("Last line of the log"))
    expect(line).to_contain_text(last)
    grows(lambda: newest(line))
    line.click()
    expect(page).to_have_url(re.compile(r"/logs$"))


def test_the_page_of_a_finished_search_follows_neither_logs_nor_metrics(
    site: Site, admin: Any
) -> None:
    number = site.ids["experiments"]["search"]
    trial = site.cluster.trials(number)[0]["id"]
    page = admin.page
    found = topics_of(page)
    for path in ("overview", "metrics", "trials", "story", f"trials/{trial}/logs"):
        admin.goto(f"/experiments/{number}/{path}")
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    expect(page.get_by_text("batch 60 of 60").first).to_be_visible()
    assert set(found) == {"me", f"exp:{number}", f"run:{trial}"}
