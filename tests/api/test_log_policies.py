"""What happens when a line of a trial's log matches one of its policies."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.api import cases_experiments as scene
from tests.api.samples import World
from tests.api.scenes import reaches, run, trials_of
from tests.covers import covers

from determined_master.aggregates.trials import TRIAL
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.trial import messages as t
from determined_master.services.cluster.pools import Pools
from determined_master.services.logs.task_logs import TaskLogs
from determined_wire import agent_link as link

CONFIG = """
entrypoint: x
searcher: {name: single, metric: loss}
log_policies:
  - {name: memory, pattern: "^out of memory$"}
  - {name: retry, pattern: "illegal address", action: cancel_retries}
  - {name: node, pattern: "ECC|NVLink", action: exclude_node}
  - {name: start, pattern: '\\Abegin'}
  - {name: lost, pattern: "lost peer", action: cancel_retries}
"""


@pytest.fixture
async def trial(world: World) -> dict[str, Any]:
    """A trial that runs; `names` has its container's."""
    body = {"config": CONFIG, "activate": True}
    made = await world.clients["admin"]("POST", "/api/v1/experiments", body)
    assert made.status == 200, made.body
    [found] = await trials_of(world, made.json()["experiment"]["id"])
    return {**found, "names": await run(world, f"{found['taskId']}.1")}


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
    state: t.Trial | None = await world.engine.read(TRIAL, str(trial["id"]))
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


async def test_one_line_for_each_policy_is_quoted_whichever_agents_report_it(world, trial) -> None:
    """Many agents reported the first pattern, and the quote of the second was lost."""
    for number in range(8):
        await said(world, trial, f"illegal address on rank {number}", agent=f"a{number}")
    await said(world, trial, "lost peer 3", agent="a9")
    quotes = ((await machine(world, trial)).retries_canceled or "").splitlines()
    assert len(quotes) == 2
    assert "illegal address on rank 0" in quotes[0]
    assert "lost peer 3" in quotes[1]


@covers("scheduling-and-provisioning b.5.exclude_node")
@covers("experiment-config 16.exclude_node")
async def test_every_agent_on_which_it_matches_is_excluded(world, trial) -> None:
    await said(world, trial, "ECC error", "ECC error again")
    await said(world, trial, "NVLink error", agent="a2")
    assert (await machine(world, trial)).excluded_agents == ("a1", "a2")


async def failed_with(world: World, trial: dict[str, Any], line: str) -> None:
    """Its container has said this last, and ended with code 1."""
    names = trial["names"]
    batch = link.LogBatch(
        container_id=names["container_id"],
        allocation_id=names["allocation_id"],
        task_id=trial["taskId"],
        first_seq=1,
        text=line,
        spans=(link.LogSpan(1, 0),),
        is_last=True,
    )
    await world.services[TaskLogs].store_batch("a1", batch)
    await scene.container(world, names, "TERMINATED", exit_code=1)


async def lines_of(world: World, trial: dict[str, Any], has: str) -> list[str]:
    """What its log says of `has`, once it does."""
    path = f"/api/v1/trials/{trial['id']}/logs"

    async def look() -> list[str]:
        answer = await world.clients["admin"]("GET", path)
        logs = [json.loads(line)["result"]["message"] for line in answer.body.splitlines()]
        return [line for line in logs if has in line]

    found: list[str] = []
    await scene.until_true(look, bool, found)
    return found


@covers("experiment-config 17.exclude_recheck")
async def test_a_failed_trial_that_no_agent_is_left_for_ends_with_reason_and_remedy(
    world, trial
) -> None:
    await failed_with(world, trial, "ECC error")
    await reaches(world, trial["experimentId"], "STATE_ERROR")
    [line] = await lines_of(world, trial, "log policies exclude")
    assert "slots requested exceeds default resource pool capacity" in line
    assert "log policies exclude a1, 0 slots are left" in line
    assert "repair the agents and start a new trial, or add agents" in line
    state = await machine(world, trial)
    assert (state.state, state.run_id) == ("ERROR", 2)


@covers("experiment-config 17.exclude_recheck")
@covers("scheduling-and-provisioning e.4.restart_warned")
async def test_where_launch_errors_are_off_it_waits_and_its_log_says_so(world, trial) -> None:
    pools = world.services[Pools]
    pools._settings = msgspec.structs.replace(pools._settings, launch_error=False)
    await failed_with(world, trial, "ECC error")
    [line] = await lines_of(world, trial, "log policies exclude")
    assert "its next attempt waits for other agents: slots requested exceeds" in line
    state = await machine(world, trial)
    assert (state.state, state.allocation_id) == ("ACTIVE", f"{trial['taskId']}.2")


async def test_a_trial_that_lost_its_agent_waits_also_with_launch_errors_on(world, trial) -> None:
    """Nothing has failed, and agents may be on their way back."""
    await said(world, trial, "ECC error")
    ids = (trial["names"]["container_id"],)
    failure = alloc.ContainerFailure(type="agent_failed", message="it is gone")
    lost = alloc.AgentLost(agent_id="a1", container_ids=ids, failure=failure)
    await scene.post(world, trial["names"], lost)
    assert await lines_of(world, trial, "its next attempt waits for other agents")
    assert (await machine(world, trial)).state == "ACTIVE"


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
    monkeypatch.setattr("determined_master.services.logs.policies.MAX_KNOWN_TASKS", 1)
    await scene.submitted(world)  # makes no lines of its own
    policies = world.services[TaskLogs]._watchers[0]
    for task_id in (trial["taskId"], "nosuch", trial["taskId"], "other"):
        await policies.look_at(task_id, "a1", ["illegal address"])
    assert list(policies._known) == ["other"]
    assert not any(kept for kept in vars(policies).values() if isinstance(kept, set))
    assert (await machine(world, trial)).retries_canceled is not None


async def test_a_nul_in_a_line_comes_back_and_elsewhere_is_refused(world, trial) -> None:
    await said(world, trial, "a\0b", "␀ and ␛")
    admin = world.clients["admin"]
    path = f"/api/v1/tasks/{trial['taskId']}/logs"
    lines = (await admin("GET", path)).body.decode().splitlines()
    logs = [json.loads(line)["result"]["log"] for line in lines]
    assert [log for log in logs if "␀" in log or "\0" in log] == ["a\0b\n", "␀ and ␛\n"]
    for wrong in ({"agentId": "a\0"}, {"taskId": "a\0"}):
        body = {"logs": [{"taskId": trial["taskId"], "log": "x", **wrong}]}
        refused = await admin("POST", "/api/v1/task/logs", body)
        assert refused.status in (400, 404), refused.body
