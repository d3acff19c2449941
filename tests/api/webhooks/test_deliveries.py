"""What webhooks deliver: states of experiments, lines of logs, alerts."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.cases_webhooks import STATE, W1
from tests.api.receiver import Receiver, receiver
from tests.api.samples import World
from tests.api.scenes import reaches, run, trials_of

from determined_master.domain.allocation import messages as alloc
from determined_master.domain.task.cause import FailureCause
from determined_master.services.webhooks.service import Webhooks

CONFIG = "name: hooked\nentrypoint: x\nsearcher: {name: single, metric: loss}\n"
CANCELED = {**STATE, "condition": {"state": "CANCELED"}}
PAUSED = {**STATE, "condition": {"state": "PAUSED"}}


@pytest.fixture
async def target() -> AsyncIterator[Receiver]:
    async with receiver() as made:
        yield made


async def hook(world: World, target: Receiver, **changes: Any) -> int:
    body = {**W1, "url": target.url, "triggers": [CANCELED], **changes}
    answer = await world.clients["admin"]("POST", "/api/v1/webhooks", body)
    assert answer.status == 200, answer.body
    return int(answer.json()["webhook"]["id"])


async def experiment(world: World, more: str = "", *, activate: bool = True) -> int:
    body = {"config": CONFIG + more, "activate": activate}
    answer = await world.clients["admin"]("POST", "/api/v1/experiments", body)
    assert answer.status == 200, answer.body
    return int(answer.json()["experiment"]["id"])


async def killed(world: World, experiment_id: int) -> None:
    answer = await world.clients["admin"]("POST", f"/api/v1/experiments/{experiment_id}/kill")
    assert answer.status == 200, answer.body


async def said(world: World, task_id: str, *lines: str) -> None:
    common = {"taskId": task_id, "agentId": "a1", "level": "LOG_LEVEL_INFO"}
    body = {"logs": [{**common, "log": f"{line}\n"} for line in lines]}
    answer = await world.clients["admin"]("POST", "/api/v1/task/logs", body)
    assert answer.status == 200, answer.body


async def test_a_change_of_state_is_delivered_once_and_signed(world, target) -> None:
    await hook(world, target)
    made = await experiment(world)
    await killed(world, made)
    [event] = await target.wait_for(1)
    reported = event["event_data"]["experiment"]
    assert event["event_type"] == "EXPERIMENT_STATE_CHANGE"
    assert event["condition"] == {"state": "CANCELED"}
    assert reported.pop("duration") >= 0
    assert reported == {
        "id": made,
        "state": "CANCELED",
        "name": "hooked",
        "resource_pool": "default",
        "slots_per_trial": 1,
        "workspace": "Uncategorized",
        "project": "Uncategorized",
    }
    [headers] = target.headers
    assert headers["request"] == "POST /hook?a=b HTTP/1.1"
    assert headers["Content-Type"] == "application/json; charset=UTF-8"
    timestamp = headers["X-Determined-AI-Signature-Timestamp"]
    signed = timestamp.encode() + b"," + target.bodies[0]
    expected = hmac.new(b"key of the tests", signed, hashlib.sha256).hexdigest()
    assert headers["X-Determined-AI-Signature"] == expected


async def test_only_chosen_experiments_are_reported(world, target) -> None:
    named = await hook(world, target, name="named", mode="WEBHOOK_MODE_SPECIFIC")
    one = await experiment(world, "integrations: {webhooks: {webhook_name: [named]}}\n")
    two = await experiment(world, f"integrations: {{webhooks: {{webhook_id: [{named}]}}}}\n")
    await killed(world, await experiment(world))
    for id in (one, two):
        await killed(world, id)
    events = await target.wait_for(2)
    assert {e["event_data"]["experiment"]["id"] for e in events} == {one, two}


async def test_an_experiment_that_wants_none_and_other_workspaces_are_left_out(
    world, target
) -> None:
    admin = world.clients["admin"]
    place = (await admin("POST", "/api/v1/workspaces", {"name": "w"})).json()["workspace"]["id"]
    await hook(world, target, workspaceId=place)
    await hook(world, target, workspaceId=0, name="everywhere")
    await killed(world, await experiment(world, "integrations: {webhooks: {exclude: true}}\n"))
    seen = await experiment(world)
    await killed(world, seen)
    [event] = await target.wait_for(1)
    assert event["event_data"]["experiment"]["id"] == seen


async def test_a_server_that_fails_gets_all_of_it_later_and_in_order(world, target) -> None:
    await hook(world, target, triggers=[PAUSED, CANCELED])
    target.status = 503
    made = await experiment(world)
    await world.clients["admin"]("POST", f"/api/v1/experiments/{made}/pause")
    await target.wait_for_attempts(1)
    await killed(world, made)
    target.status = 200
    events = await target.wait_for(2)
    assert [e["condition"]["state"] for e in events] == ["PAUSED", "CANCELED"]


async def test_a_slow_server_holds_up_no_other_one(world, target) -> None:
    async with receiver() as slow:
        slow.is_open.clear()
        for number in range(3):
            await hook(world, slow, name=f"slow {number}")
        await hook(world, target)
        for _ in range(6):
            await killed(world, await experiment(world))
        assert len(await target.wait_for(6)) == 6
        assert slow.bodies == []


async def test_a_redirect_is_not_followed_and_not_repeated(world, target) -> None:
    await hook(world, target)
    target.status = 302
    await killed(world, await experiment(world))
    await target.wait_for_attempts(1)
    target.status = 200
    last = await experiment(world)
    await killed(world, last)
    [event] = await target.wait_for(1)
    assert event["event_data"]["experiment"]["id"] == last


async def test_a_pattern_is_reported_once_a_task(world, target) -> None:
    log = {"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"regex": "out of .*"}}
    await hook(world, target, triggers=[log])
    tasks = []
    for _ in range(2):
        [trial] = await trials_of(world, await experiment(world))
        await run(world, f"{trial['taskId']}.1")
        tasks.append(trial["taskId"])
        await said(world, trial["taskId"], "all is well", "out of memory", "out of disk")
        await said(world, trial["taskId"], "out of luck")
    events = await target.wait_for(2)
    assert [e["event_data"]["task_log"] for e in events] == [
        {"task_id": task, "node_name": "a1", "triggering_log": "out of memory\n"} for task in tasks
    ]
    assert {e["event_type"] for e in events} == {"TASK_LOG"}
    assert {e["condition"]["regex"] for e in events} == {"out of .*"}
    assert len(target.bodies) == 2


async def test_a_pattern_is_looked_for_in_tasks_that_ran_before_it_was_made(world, target) -> None:
    [trial] = await trials_of(world, await experiment(world))
    await said(world, trial["taskId"], "out of memory")
    log = {"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"regex": "out of .*"}}
    await hook(world, target, triggers=[log])
    await said(world, trial["taskId"], "out of disk")
    [event] = await target.wait_for(1)
    assert event["event_data"]["task_log"]["triggering_log"] == "out of disk\n"


async def test_an_alert_reaches_the_webhooks_that_the_experiment_names(world, target) -> None:
    custom = {"triggerType": "TRIGGER_TYPE_CUSTOM"}
    specific = {"triggers": [custom], "mode": "WEBHOOK_MODE_SPECIFIC"}
    await hook(world, target, name="mine", **specific)
    await hook(world, target, name="other", **specific)
    made = await experiment(world, "integrations: {webhooks: {webhook_name: [mine]}}\n")
    [trial] = await trials_of(world, made)
    data = {"title": "t", "description": "d", "level": "LOG_LEVEL_WARNING"}
    admin = world.clients["admin"]
    body = {"data": data, "experimentId": made, "trialId": trial["id"]}
    answer = await admin("POST", "/api/v1/webhooks/custom", body)
    assert (answer.status, answer.json()) == (200, {})
    [event] = await target.wait_for(1)
    assert event["event_type"] == "CUSTOM"
    assert event["condition"] == {"state": "ACTIVE"}
    assert event["event_data"]["custom_data"] == {
        "title": "t",
        "description": "d",
        "level": "WARNING",
    }
    assert event["event_data"]["experiment"]["trial_id"] == trial["id"]
    for wrong in ({"trialId": 77}, {"experimentId": 77}):
        refused = await admin("POST", "/api/v1/webhooks/custom", {**body, **wrong})
        assert (refused.status, "not found" in refused.text) == (404, True)


async def test_a_slack_message_names_the_experiment_and_escapes_its_name(world, target) -> None:
    await hook(world, target, webhookType="WEBHOOK_TYPE_SLACK")
    body = {"config": CONFIG.replace("hooked", "<!channel> & co"), "activate": True}
    answer = await world.clients["admin"]("POST", "/api/v1/experiments", body)
    made = answer.json()["experiment"]["id"]
    await killed(world, made)
    [message] = await target.wait_for(1)
    assert message["blocks"][0]["text"] == {"type": "plain_text", "text": "Experiment canceled"}
    [attached] = message["attachments"]
    assert attached["color"] == "#13B670"
    section = attached["blocks"][0]
    assert section["text"]["text"] == f":warning: &lt;!channel&gt; &amp; co (#{made})"
    assert section["fields"][0]["text"] == "*Status*: Canceled"
    assert section["fields"][1]["text"] == "*Duration*: 0h 0min"


async def test_a_master_that_does_not_lead_delivers_nothing(world, target) -> None:
    await hook(world, target)
    deliveries = world.services[Webhooks]._deliveries
    leads, deliveries._is_leading = deliveries._is_leading, lambda: False
    await killed(world, await experiment(world))
    assert await deliveries._start_due() > 0
    assert target.attempts == 0
    deliveries._is_leading = leads
    deliveries.wake()
    assert len(await target.wait_for(1)) == 1


async def test_a_failure_is_delivered_with_its_cause(world, target) -> None:
    failed = {**STATE, "condition": {"state": "ERROR"}}
    await hook(world, target, triggers=[failed])
    await hook(world, target, name="chat", webhookType="WEBHOOK_TYPE_SLACK", triggers=[failed])
    made = await experiment(world, "max_restarts: 0\n")
    [trial] = await trials_of(world, made)
    names = await run(world, f"{trial['taskId']}.1")
    cause = FailureCause(
        kind="exception", type="KeyError", message="'lr' <x>", file="t.py", line=4
    )
    failure = alloc.ContainerFailure(type="container_failed", message="", exit_code=1, cause=cause)
    event = alloc.ContainerChanged(
        container_id=names["container_id"], state="TERMINATED", exit_code=1, failure=failure
    )
    await scene.post(world, names, event)
    await reaches(world, made, "STATE_ERROR")
    plain, slack = sorted(await target.wait_for(2), key=lambda body: "blocks" in body)
    reason = plain["event_data"]["experiment"]["reason"]
    assert reason.startswith(f"KeyError: 'lr' <x> · t.py:4; trial {trial['id']}: ")
    assert "reason" not in plain["event_data"]
    [_, section] = slack["attachments"][0]["blocks"]
    assert section["text"]["text"].startswith("KeyError: 'lr' &lt;x&gt; · t.py:4")
