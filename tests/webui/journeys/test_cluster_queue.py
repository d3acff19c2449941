"""The queue of a pool and the agents below it: order, priority, weight, pool, drain, slots."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running
from tests.webui.chromium import reason_to_skip
from tests.webui.scene import NAPS, Place, new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

JOBS = 10
SETTINGS = """
resource_manager:
  type: agent
  default_compute_resource_pool: main
  default_aux_resource_pool: side
  scheduler: {type: priority, fitting_policy: best, default_priority: 42}
resource_pools:
  - {pool_name: main}
  - {pool_name: side, scheduler: {type: fair_share}}
"""
ORDER = """(table) => [...table.querySelectorAll("tbody tr")]
  .map((row) => row.cells[1].textContent)"""


@pytest.fixture(scope="module")
def queue() -> Iterator[Place]:
    """Ten jobs in the pool `main`, which has two slots; the pool `side` has two more."""
    missing = reason_to_skip()
    if missing:
        pytest.skip(missing)
    with running(agents=2, settings=SETTINGS, pools=["main", "side"]) as cluster:
        place = new_place(cluster, "queue")
        for number in range(JOBS):
            place.submit(NAPS, name=f"job {number}", resources={"slots_per_trial": 2})
        until(lambda: jobs(cluster)[0]["summary"]["state"] == "STATE_SCHEDULED", what="a start")
        yield place
        cluster.settle()


@pytest.fixture
def admin(queue: Place, visit: Any) -> Any:
    return visit(queue.cluster.address)


def jobs(cluster: Cluster, pool: str = "main") -> list[dict[str, Any]]:
    listed = cluster.get("/api/v1/job-queues-v2", resourcePool=pool)["jobs"]
    return [each["full"] for each in listed]


def order(cluster: Cluster, pool: str = "main") -> list[str]:
    return [each["name"] for each in jobs(cluster, pool)]


def shown(page: Page) -> list[str]:
    """Names of the jobs, from the top."""
    region = page.get_by_role("region", name="Queue")
    expect(region).to_be_visible()
    found: list[str] = region.evaluate(ORDER)
    return found


def await_same(page: Page, cluster: Cluster, wanted: list[str]) -> None:
    """Wait until both the master and the page have an order."""
    until(lambda: order(cluster) == wanted, what=f"the order {wanted}")
    until(lambda: page.evaluate("1") and shown(page) == wanted, what=f"the page's {wanted}")


def open_menu(page: Page, name: str) -> Locator:
    page.get_by_role("button", name=f"Actions for {name}", exact=True).press("Enter")
    return page.get_by_role("menu")


def test_jobs_are_moved_by_keyboard_and_by_drag(queue: Place, admin: Any) -> None:
    cluster = queue.cluster
    page: Page = admin.goto("/resourcepool/main/queue")
    expect(page.get_by_text(f"{JOBS} jobs")).to_be_visible()
    before = order(cluster)
    assert shown(page) == before == [f"job {n}" for n in range(JOBS)]

    open_menu(page, "job 5").get_by_role("menuitem", name="Move up").press("Enter")
    wanted = [before[n] for n in (0, 1, 2, 3, 5, 4, 6, 7, 8, 9)]
    await_same(page, cluster, wanted)
    open_menu(page, "job 2").get_by_role("menuitem", name="Move down").press("Enter")
    wanted[2:4] = ["job 3", "job 2"]
    await_same(page, cluster, wanted)

    rows = page.get_by_role("region", name="Queue").get_by_role("row")
    grip = rows.filter(has_text="job 9").locator("[draggable=true]")
    grip.drag_to(rows.filter(has_text="job 3"))
    wanted.insert(2, wanted.pop())
    await_same(page, cluster, wanted)


def test_a_job_says_why_it_waits(queue: Place, admin: Any) -> None:
    page: Page = admin.goto("/resourcepool/main/queue")
    job = jobs(queue.cluster)[1]
    open_menu(page, job["name"]).get_by_role("menuitem", name="Why does it wait?").click()
    dialog = page.get_by_role("dialog", name=f"Why {job['name']} waits")
    why = queue.cluster.get(f"/api/v1/job-queues/{job['jobId']}/why")
    expect(dialog.get_by_role("strong")).to_have_text(re.compile(re.escape(why["text"][1:])))
    facts = dict(
        zip(
            dialog.locator("dt").all_inner_texts(),
            dialog.locator("dd").all_inner_texts(),
            strict=True,
        )
    )
    assert (facts["Needs"], facts["Free now"]) == ("2 slots", "0 slots")
    count = why["waits"]["aheadCount"]
    assert facts["Ahead of it"] == f"{count} request{'' if count == 1 else 's'}"
    [first] = why["waits"]["next"]
    link = dialog.get_by_role("link", name=first["name"])
    expect(link).to_have_attribute("href", re.compile(f"/trials/{first['trialId']}/overview$"))
    row = dialog.get_by_role("row").filter(has_text=first["name"])
    expect(row).to_contain_text(first["username"])


def test_priority_pool_and_weight_are_changed(queue: Place, admin: Any) -> None:
    cluster = queue.cluster
    page: Page = admin.goto("/resourcepool/main/queue")
    open_menu(page, "job 7").get_by_role("menuitem", name="Priority and pool").click()
    dialog = page.get_by_role("dialog", name="job 7")
    dialog.get_by_label("Priority").fill("100")
    expect(dialog.get_by_role("button", name="Save")).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Priority").fill("7")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    until(lambda: "job 7" in order(cluster)[:2], what="the more urgent job ahead of the others")
    await_same(page, cluster, order(cluster))
    assert {job["name"]: job["priority"] for job in jobs(cluster)}["job 7"] == 7

    open_menu(page, "job 8").get_by_role("menuitem", name="Priority and pool").click()
    dialog = page.get_by_role("dialog", name="job 8")
    dialog.get_by_label("Resource pool").select_option("side")
    dialog.get_by_role("button", name="Save").click()
    until(lambda: order(cluster, "side") == ["job 8"], what="the move to the other pool")
    await_same(page, cluster, order(cluster))
    page.goto(admin.url("/resourcepool/side/queue"))
    open_menu(page, "job 8").get_by_role("menuitem", name="Weight and pool").click()
    dialog = page.get_by_role("dialog", name="job 8")
    dialog.get_by_label("Weight").fill("2.5")
    dialog.get_by_role("button", name="Save").click()
    until(lambda: jobs(cluster, "side")[0]["weight"] == 2.5, what="the new weight")
    row = page.get_by_role("region", name="Queue").get_by_role("row").filter(has_text="job 8")
    expect(row.get_by_role("cell", name="2.5")).to_be_visible()


def test_a_job_is_killed_after_a_question(queue: Place, admin: Any) -> None:
    page: Page = admin.goto("/resourcepool/main/queue")
    name = order(queue.cluster)[-1]
    open_menu(page, name).get_by_role("menuitem", name="Kill").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert name in order(queue.cluster)
    open_menu(page, name).get_by_role("menuitem", name="Kill").click()
    page.get_by_role("dialog").get_by_role("button", name="Kill").click()
    until(lambda: name not in order(queue.cluster), what="its end")
    await_same(page, queue.cluster, order(queue.cluster))


def test_agents_are_drained_and_slots_disabled(queue: Place, admin: Any) -> None:
    cluster = queue.cluster
    watcher = admin.open("/clusters")
    tile = watcher.get_by_role("link", name=re.compile("^agent-0: "))
    expect(tile).to_have_accessible_name("agent-0: 2 slots, 2 in use")
    page: Page = admin.goto("/agents/agent-0")
    page.get_by_role("button", name="Drain").click()
    expect(page.get_by_text("Draining", exact=True)).to_be_visible()
    expect(tile).to_have_accessible_name("agent-0: 2 slots, 2 draining, draining")
    assert cluster.get("/api/v1/agents/agent-0")["agent"]["draining"]
    page.get_by_role("button", name="Enable", exact=True).first.click()
    expect(tile).to_have_accessible_name("agent-0: 2 slots, 2 in use")

    page.goto(admin.url("/agents/agent-1"))
    busy = watcher.get_by_role("link", name=re.compile("^agent-1: "))
    expect(busy).to_have_accessible_name("agent-1: 2 slots, 2 in use")
    slot = page.get_by_role("region", name="Slots").get_by_role("row").nth(1)
    slot.get_by_role("button", name="Disable").click()
    found = cluster.get("/api/v1/agents/agent-1")["agent"]["slots"]
    until(
        lambda: (
            [
                each["enabled"]
                for each in cluster.get("/api/v1/agents/agent-1")["agent"]["slots"].values()
            ].count(False)
            == 1
        ),
        what="the disabled slot",
    )
    assert len(found) == 2
    expect(busy).to_have_accessible_name(re.compile("1 draining|1 disabled"))
    slot.get_by_role("button", name="Enable").click()
    until(
        lambda: all(
            each["enabled"]
            for each in cluster.get("/api/v1/agents/agent-1")["agent"]["slots"].values()
        ),
        what="the enabled slot",
    )
