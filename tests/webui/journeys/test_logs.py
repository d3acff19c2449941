"""Logs of runs: following without a gap, searches, filters, links to lines, downloads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import until
from tests.webui.conftest import Site
from tests.webui.scene import Place, gate, new_place, stream

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

LINES = 8000
PRINTS = f"""
import os, sys, time
print("ready", flush=True)
while not os.path.exists(os.environ["GATE"]):
    time.sleep(0.02)
begun = time.monotonic()
for n in range({LINES}):
    level = "ERROR" if n % 1000 < 2 else "INFO"
    print(f"[rank={{n % 2}}] {{level}}: counted line {{n}} ok", flush=n % 100 == 99)
    if n % 100 == 99:
        time.sleep(max(0, begun + n / 2000 - time.monotonic()))
"""
WAIT_MS = 60_000


class Written:
    """A run whose log is written when the gate opens."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.gate, changes = gate(place.cluster)
        self.experiment = place.submit(PRINTS, **changes)
        self.trial = int(place.trial(self.experiment)["id"])

    def lines(self, **params: Any) -> list[dict[str, Any]]:
        return stream(self.place.cluster, f"/api/v1/trials/{self.trial}/logs", **params)


@pytest.fixture(scope="module")
def run(site: Site) -> Iterator[Written]:
    made = Written(new_place(site.cluster, "logs"))
    yield made
    made.gate.touch()


@pytest.fixture(scope="module")
def written(run: Written) -> Written:
    """The same run after its end."""
    run.gate.touch()
    assert run.place.cluster.wait(run.experiment) == "COMPLETED"
    return run


def search(page: Page, text: str, count: str) -> None:
    """Search the loaded lines, and wait for the number of hits."""
    page.get_by_label("Search the log").fill(text)
    expect(page.get_by_role("toolbar", name="Log").get_by_role("status")).to_have_text(
        re.compile(f" of {count}$"), timeout=WAIT_MS
    )


def test_a_fast_log_is_followed_without_a_gap(run: Written, admin: Any) -> None:
    page: Page = admin.goto(f"/experiments/{run.experiment}/logs")
    expect(page.get_by_text("ready", exact=True)).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_role("button", name="Following")).to_be_visible()
    tabs = page.get_by_role("navigation", name="Sections").bounding_box()
    assert tabs is not None
    assert tabs["height"] > 30, "a log that fills the page leaves the tabs their place"
    run.gate.touch()
    search(page, "counted line", f"{LINES:,}")
    expect(page.get_by_text(f"counted line {LINES - 1} ok")).to_be_visible()
    run.place.cluster.wait(run.experiment)
    ended = page.get_by_role("button", name="Follow", exact=True)
    expect(ended).to_have_attribute("title", "The log has ended.", timeout=WAIT_MS)
    counted = [line for line in run.lines() if "counted line" in line["log"]]
    assert len(counted) == LINES


def test_a_hit_of_the_whole_log_is_shown_with_its_context(written: Written, admin: Any) -> None:
    page: Page = admin.goto(f"/experiments/{written.experiment}/logs")
    search(page, f"counted line {LINES - 1} ok", "1")
    page.get_by_role("button", name="Regular expression").click()
    search(page, "counted line [45] ok", "0")  # the newest lines alone are loaded
    page.get_by_role("button", name="List of hits").click()
    hits = page.get_by_role("complementary", name="Hits")
    hits.get_by_role("button", name="Search the whole log").click()
    expect(hits.get_by_role("listitem")).to_have_text(["counted line 4 ok", "counted line 5 ok"])
    hits.get_by_role("button", name="counted line 5 ok").click()
    region = page.get_by_role("region", name=f"Log of trial {written.trial}, lines")
    expect(region.get_by_text("counted line 3 ok", exact=True)).to_be_visible()
    expect(region.get_by_text("counted line 7 ok", exact=True)).to_be_visible()
    region.press("End")
    expect(region.get_by_text(f"counted line {LINES - 1} ok")).to_be_visible()


def test_levels_ranks_and_errors_narrow_a_log(written: Written, admin: Any) -> None:
    page: Page = admin.goto(f"/experiments/{written.experiment}/logs")
    search(page, "counted line", r"\d.*")
    page.get_by_label("Lowest level").select_option("ERROR")
    errors = written.lines(levels=["LOG_LEVEL_ERROR", "LOG_LEVEL_CRITICAL"])
    assert len(errors) == 2 * LINES / 1000
    search(page, "counted line", str(len(errors)))
    page.get_by_role("button", name="All ranks").click()
    page.get_by_label("Rank 1").check()
    page.keyboard.press("Escape")
    ones = written.lines(levels=["LOG_LEVEL_ERROR", "LOG_LEVEL_CRITICAL"], rankIds=[1])
    search(page, "counted line", str(len(ones)))
    page.get_by_label("Lowest level").select_option("")
    page.get_by_role("button", name="Ranks 1").click()
    page.get_by_label("All ranks").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Next error").click()
    marked = page.locator("[data-marked=true]")
    expect(marked).to_have_attribute("data-level", "ERROR")
    # None is among the newest lines, which alone are loaded: the first one of the log.
    expect(marked).to_contain_text("counted line 0 ok")


def test_a_line_has_an_address(written: Written, admin: Any) -> None:
    page: Page = admin.goto(f"/experiments/{written.experiment}/logs")
    line = next(each for each in written.lines() if "counted line 4000 ok" in each["log"])
    page.goto(admin.url(f"/experiments/{written.experiment}/logs#L{line['id']}"))
    marked = page.locator("[data-marked=true]")
    expect(marked).to_contain_text("counted line 4000 ok", timeout=WAIT_MS)
    expect(marked).to_be_in_viewport()
    other = next(each for each in written.lines() if "counted line 4003 ok" in each["log"])
    page.locator(f"a[href='#L{other['id']}']").click()
    expect(page).to_have_url(re.compile(f"#L{other['id']}$"))
    expect(marked).to_contain_text("counted line 4003 ok")


def test_the_downloaded_log_is_that_of_the_master(
    written: Written, admin: Any, tmp_path: Path
) -> None:
    page: Page = admin.goto(f"/experiments/{written.experiment}/logs")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the log").click()
    file = tmp_path / "log"
    waiting.value.save_as(file)
    assert waiting.value.suggested_filename == f"Log of trial {written.trial}.log"
    assert file.read_text() == "".join(line["message"] for line in written.lines())
    expect(page.get_by_role("region", name=f"Log of trial {written.trial}, lines")).to_be_visible()


def test_the_log_of_a_task_is_followed_and_downloaded(site: Site, admin: Any) -> None:
    place = new_place(site.cluster, "logs")
    task = place.command("for n in 1 2 3; do echo said $n; done")
    page: Page = admin.goto(f"/command/{task}/logs")
    expect(page.get_by_text("said 3", exact=True)).to_be_visible(timeout=WAIT_MS)
    path = f"/api/v1/tasks/{task}/logs"
    until(
        lambda: (
            site.cluster.get(f"/api/v1/commands/{task}")["command"]["state"] == "STATE_TERMINATED"
        ),
        what="the end of the command",
    )
    button = page.get_by_role("button", name="Download the log")
    # A failure says what is late: the click, the master's answer, or the browser.
    with page.expect_download() as waiting, page.expect_response(lambda r: r.url.endswith(path)):
        button.click()
        expect(page.get_by_text("The log is being read")).to_be_visible()
    stored = "".join(line["message"] for line in stream(site.cluster, path))
    assert Path(waiting.value.path()).read_text() == stored
