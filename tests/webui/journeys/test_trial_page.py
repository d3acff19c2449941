"""The page of a trial shows the trial, not its experiment."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.cluster import until
from tests.webui.conftest import Site
from tests.webui.scene import SAVES, Place, new_place
from tests.webui.tables import stat

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

STARTS_MS = 120_000
"""A deadline is no claim: a busy machine takes long to start a process."""
FAILS = "print('begins', flush=True)\nraise ValueError('no')\n"


def fact(page: Page, name: str) -> Locator:
    return page.locator(f"dl > div:has(> dt:text-is('{name}')) > dd")


def ended_search(place: Place) -> int:
    """A search of two trials, which has ended and keeps one checkpoint of each."""
    space = {"x": {"type": "categorical", "vals": [1, 2]}}
    searcher = {"name": "grid", "metric": "loss"}
    experiment = place.submit(SAVES, hyperparameters=space, searcher=searcher)
    until(lambda: place.cluster.state(experiment) == "COMPLETED", what="its end")
    # The task that deletes the older ones starts after the end.
    until(
        lambda: [t["checkpointCount"] for t in place.cluster.trials(experiment)] == [1, 1],
        what="the deletion of the older checkpoints",
    )
    return experiment


def test_an_overview_has_the_numbers_of_its_trial_and_its_best_checkpoint(
    site: Site, admin: Any
) -> None:
    place = new_place(site.cluster, "own")
    experiment = ended_search(place)
    [first, _] = site.cluster.trials(experiment)
    page: Page = admin.goto(f"/trials/{first['id']}/overview")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Trial {first['id']}")
    crumbs = page.get_by_role("navigation", name="Breadcrumb")
    expect(crumbs).to_have_text(f"{place.name}/{place.name}/Experiment {experiment}")
    whole = site.cluster.get(f"/api/v1/experiments/{experiment}")["experiment"]
    trial = site.cluster.get(f"/api/v1/trials/{first['id']}")["trial"]
    assert trial["checkpointCount"] < whole["checkpointCount"]
    expect(stat(page, "Checkpoints")).to_have_text(str(trial["checkpointCount"]))
    expect(stat(page, "Batches")).to_have_text("2")
    expect(stat(page, "Trials")).to_have_count(0)
    expect(fact(page, "Experiment")).to_have_text(f"Experiment {experiment} · {place.name}")
    expect(page.get_by_text("best at 2 batches")).to_be_visible()
    expect(page.get_by_role("application", name="loss")).to_be_visible()
    row = page.get_by_role("region", name="Attempts").locator("tbody tr")
    expect(row).to_contain_text("Attempt 1")
    expect(row.get_by_role("link")).to_have_attribute("href", re.compile("/agents/"))
    expect(page.get_by_role("button", name="Fork its search")).to_be_visible()
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    page.get_by_role("button", name="Register").click()
    dialog = page.get_by_role("dialog", name="Register as a model version")
    expect(dialog.get_by_label("Name of the new model")).to_be_visible()


def test_each_attempt_of_a_failed_trial_leads_to_its_line_of_the_log(
    site: Site, admin: Any
) -> None:
    place = new_place(site.cluster, "attempts")
    experiment = place.submit(FAILS, max_restarts=1)
    trial = place.trial(experiment)["id"]
    until(lambda: place.cluster.state(experiment) == "ERROR", what="its end")
    page: Page = admin.goto(f"/trials/{trial}/overview")
    said = "ValueError: no · t.py:2"
    expect(page.get_by_role("strong").filter(has_text=said)).to_be_visible()
    rows = page.get_by_role("region", name="Attempts").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Attempt 2")
    lines = page.get_by_role("list", name="Last lines of the log")
    expect(lines).to_contain_text("ValueError: no")
    rows.nth(1).get_by_role("link", name=said).click()
    expect(page).to_have_url(re.compile(rf"/trials/{trial}/logs#L\d+$"))


def test_a_detached_trial_says_that_it_runs_elsewhere(site: Site, admin: Any) -> None:
    place = new_place(site.cluster, "detached")
    config = {"name": "elsewhere", "searcher": {"name": "single", "metric": "loss"}}
    body = {"config": json.dumps(config), "unmanaged": True, "projectId": place.project}
    experiment = place.cluster.post("/api/v1/experiments", body)["experiment"]["id"]
    made = place.cluster.post("/api/v1/trials", {"experimentId": experiment, "unmanaged": True})
    page: Page = admin.goto(f"/trials/{made['trial']['id']}/overview")
    expect(fact(page, "Runs")).to_contain_text("outside of this cluster")
    for name in ("Entrypoint", "Resource pool", "Slots"):
        expect(fact(page, name)).to_have_count(0)


@pytest.mark.parametrize("path", ["experiments/abc", "trials/abc", "searches/abc/runs"])
def test_an_address_without_a_number_is_not_found(admin: Any, path: str) -> None:
    page: Page = admin.goto(f"/{path}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)
