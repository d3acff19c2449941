"""What happens when a line of a trial's log matches one of its policies."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.samples import World
from tests.api.scenes import run, trials_of
from tests.covers import covers

from determined_master.domain.trial import messages as t

CONFIG = """
entrypoint: x
searcher: {name: single, metric: loss}
log_policies:
  - {name: memory, pattern: "^out of memory$"}
  - {name: retry, pattern: "illegal address", action: cancel_retries}
  - {name: node, pattern: "ECC|NVLink", action: exclude_node}
  - {name: start, pattern: '\\Abegin'}
"""


@pytest.fixture
async def trial(world: World) -> dict[str, Any]:
    """A trial that runs."""
    body = {"config": CONFIG, "activate": True}
    made = await world.clients["admin"]("POST", "/api/v1/experiments", body)
    assert made.status == 200, made.body
    [found] = await trials_of(world, made.json()["experiment"]["id"])
    await run(world, f"{found['taskId']}.1")
    return found


async def said(world: World, trial: dict[str, Any], *lines: str, agent: str = "a1") -> None:
    common = {"taskId": trial["taskId"], "agentId": agent, "level": "LOG_LEVEL_INFO"}
    logs = [{**common, "log": f"{line}\n"} for line in lines]
    answer = await world.clients["admin"]("POST", "/api/v1/task/logs", {"logs": logs})
    assert answer.status == 200, answer.body


async def label(world: World, trial: dict[str, Any]) -> str | None:
    answer = await world.clients["admin"]("GET", f"/api/v1/trials/{trial['id']}")
    matched: str | None = answer.json()["trial"].get("logPolicyMatched")
    return matched


async def machine(world: World, trial: dict[str, Any]) -> t.Trial:
    state: t.Trial | None = await world.engine.read("trial", str(trial["id"]))
    assert state is not None
    return state


@covers("experiment-config 16.match_label 16.pattern")
async def test_a_match_marks_the_trial_with_the_name_of_the_policy(world, trial) -> None:
    await said(world, trial, "nearly out of memory", "all is well")
    assert not await label(world, trial)
    await said(world, trial, "one", "out of memory", "two")
    assert await label(world, trial) == "memory"


async def test_a_pattern_for_the_beginning_of_the_text_means_that_of_each_line(
    world, trial
) -> None:
    await said(world, trial, "we begin", "begin here")
    assert await label(world, trial) == "start"


@covers("scheduling-and-provisioning b.5.cancel_retries")
@covers("experiment-config 16.cancel_retries")
async def test_a_match_makes_the_next_failure_final_and_says_why(world, trial) -> None:
    await said(world, trial, "CUDA error: an illegal address")
    state = await machine(world, trial)
    assert state.retries_canceled is not None
    assert "CUDA error: an illegal address" in state.retries_canceled


@covers("scheduling-and-provisioning b.5.exclude_node")
@covers("experiment-config 16.exclude_node")
async def test_every_agent_on_which_it_matches_is_excluded(world, trial) -> None:
    await said(world, trial, "ECC error", "ECC error again")
    await said(world, trial, "NVLink error", agent="a2")
    assert (await machine(world, trial)).excluded_agents == ("a1", "a2")


@covers("scheduling-and-provisioning b.5.own_config")
@covers("experiment-config 16.config_echo")
async def test_a_line_that_shows_the_configuration_matches_nothing(world, trial) -> None:
    await said(world, trial, '{"log_policies": [{"pattern": "illegal address"}]}')
    assert not await label(world, trial)
    assert (await machine(world, trial)).retries_canceled is None


@covers("experiment-config 16.cache")
async def test_patterns_of_many_tasks_are_bounded_in_memory(
    world, trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("determined_master.services.log_policies.MAX_KNOWN_TASKS", 1)
    await scene.submitted(world)  # makes no lines of its own
    policies = world.services.task_logs._policies
    for task_id in (trial["taskId"], "nosuch", trial["taskId"], "other"):
        await policies.look_at(task_id, "a1", ["illegal address"])
    assert list(policies._known) == ["other"]
    assert (await machine(world, trial)).retries_canceled is not None
