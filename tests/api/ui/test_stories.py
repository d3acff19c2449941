"""Stories in plain words, read page by page."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.hidden import ok
from tests.api.samples import World
from tests.api.scenes import trials_of

from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.domain.experiment import messages as exp
from determined_master.domain.ids import ExperimentId
from determined_master.engine.causes import Occurrence

pytestmark = pytest.mark.slow


async def items(world: World, path: str, limit: int = 0) -> list[dict[str, Any]]:
    """All items, read in pages of so many."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        page = await ok(
            world.clients["admin"], "GET", f"/api/ui/v1/{path}/story?after={after}&limit={limit}"
        )
        found += page["items"]
        assert page["next"] == (page["items"][-1]["cursor"] if page["items"] else after)
        if not page["hasMore"]:
            return found
        after = page["next"]


async def test_a_story_says_in_plain_words_what_happened_to_a_trial(world: World) -> None:
    await scene.finished(world)
    trial = world.names["trial_id"]
    found = await items(world, f"trials/{trial}")
    texts = [item["text"] for item in found]
    assert texts[0] == f"trial {trial} was created"
    assert "attempt 1 was requested" in texts
    assert "attempt 1 got slots on a1 (1 slot)" in texts
    assert texts[-1].startswith(f"trial {trial} ended an attempt: completed, ")
    assert {item["level"] for item in found} == {"info"}
    assert [item["at"] for item in found] == sorted(item["at"] for item in found)
    assert await items(world, f"trials/{trial}", 2) == found
    task = await items(world, f"tasks/{world.names['task_id']}")
    assert [item["text"] for item in task] == texts


async def test_the_story_of_a_search_names_its_trials_and_users(world: World) -> None:
    names = await scene.submitted(world)
    path = f"/api/v1/experiments/{names['experiment_id']}"
    await ok(world.clients["admin"], "POST", f"{path}/pause", {})
    await ok(world.clients["admin"], "POST", f"{path}/activate", {})
    found = await items(world, f"experiments/{names['experiment_id']}")
    assert [(item["text"], item["cause"]) for item in found[:3]] == [
        (f"experiment {names['experiment_id']} was created", ""),
        (f"experiment {names['experiment_id']} was paused", "user admin"),
        (f"experiment {names['experiment_id']} was activated", "user admin"),
    ]
    await scene.finished(world)
    found = await items(world, f"experiments/{world.names['experiment_id']}")
    trial = int(world.names["trial_id"])
    (end,) = [item for item in found if item["kind"] == "trial_ended"]
    assert (end["trialId"], end["text"]) == (trial, f"trial {trial} ended: completed")


async def test_a_metric_whose_great_values_are_better_has_the_sign_of_its_report(
    world: World,
) -> None:
    config = "entrypoint: x\nsearcher: {name: single, metric: acc, smaller_is_better: false}"
    body = {"config": config, "activate": False}
    made = await ok(world.clients["admin"], "POST", "/api/v1/experiments", body)
    number = made["experiment"]["id"]
    [trial] = await trials_of(world, number, 1)
    told = await ok(world.clients["admin"], "GET", f"/api/v1/trials/{trial['id']}/story")
    request_id = told["lines"][0]["detail"]["request_id"]
    event = exp.ValidationReported(request_id=request_id, metric=-0.9022222222)
    await world.engine.post(
        EXPERIMENT, ExperimentId(number), event, cause=Occurrence("reported", "once")
    )
    found = await items(world, f"experiments/{number}")
    text = f"trial {trial['id']} reported a validation (searcher's metric 0.902222)"
    assert text in [item["text"] for item in found]
    lines = (await ok(world.clients["admin"], "GET", f"/api/v1/experiments/{number}/story"))[
        "lines"
    ]
    assert [li["detail"]["metric"] for li in lines if li["event"] == "validation_reported"] == [
        0.9022222222
    ]


async def test_the_other_form_of_a_story_has_its_texts_from_the_master(world: World) -> None:
    await scene.finished(world)
    path = f"/api/v1/trials/{world.names['trial_id']}/story"
    lines = (await ok(world.clients["admin"], "GET", path))["lines"]
    assert lines[0]["text"].startswith(f"trial {world.names['trial_id']}  trial created")
    assert any(line["text"].startswith("attempt 1  assigned  agent_id=") for line in lines)
    verbose = (await ok(world.clients["admin"], "GET", f"{path}?isVerbose=true"))["lines"]
    assert all("  because of " in line["text"] for line in verbose)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("limit=1001", "limit is 1001"),
        ("limit=-1", "limit is -1"),
        ("after=nonsense", "must be the cursor of an item"),
        ("after=WyIyMDI2LTAxLTAxIiwiYSIsImIiLDFd", "must be the cursor of an item"),
    ],
)
async def test_an_invalid_cursor_or_limit_is_refused(world: World, query: str, text: str) -> None:
    names = await scene.submitted(world)
    path = f"/api/ui/v1/experiments/{names['experiment_id']}/story?{query}"
    answer = await world.clients["admin"]("GET", path)
    assert (answer.status, text in answer.text) == (400, True), answer.text


async def test_there_is_no_story_of_nothing(world: World) -> None:
    for kind in ("experiments", "trials", "tasks"):
        assert (await world.clients["admin"]("GET", f"/api/ui/v1/{kind}/999/story")).status == 404
