"""Requests of users' scripts through the bindings of 0.38.1."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import Client
from tests.compat.conftest import SETTINGS
from tests.e2e.cluster import PASSWORD, Cluster, until
from tests.e2e.conftest import running

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


@pytest.fixture(scope="module", params=["published", "ours"])
def place(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Cluster]:
    """Where a script runs: one run leaves names behind that another one would make."""
    if request.param == "published":
        yield cluster
    else:
        with running(agents=2, slots=1, settings=SETTINGS) as another:
            yield another


@pytest.fixture(scope="module")
def scripting(client: Client, cluster: Cluster, place: Cluster) -> Client:
    """Runs a script under the published package, then the same script under ours."""
    if place is cluster:
        return client
    return Client(Path(sys.executable), place.root / "home-ours", place.address)


@pytest.fixture(scope="module")
def found(scripting: Client) -> dict[str, Any]:
    """The answers that the script got."""
    answers: dict[str, Any] = scripting.script("sdk_scripts.py", "admin", PASSWORD)
    return answers


def test_a_new_experiment_and_a_fork_are_answered_with_their_trials(found: dict[str, Any]) -> None:
    assert found["trials"] == [2, 2]


def test_a_hyperparameter_is_filtered_by_its_bare_name_and_a_waiting_run_is_active(
    found: dict[str, Any],
) -> None:
    assert found["runs"] == [[{"x": 2}, "STATE_ACTIVE"]]


def test_runs_of_a_search_are_not_paused_and_each_is_answered(found: dict[str, Any]) -> None:
    assert found["paused_runs"] == found["refusals"]
    assert found["paused_by_filter"] == ["Cannot pause/unpause run "]


def test_bulk_actions_on_any_project_act(found: dict[str, Any]) -> None:
    assert found["paused"] == [""]
    assert found["states"] == ["STATE_PAUSED", "STATE_QUEUED"]
    assert (found["killed"], found["archived"]) == (["", ""], [""])
    assert found["ended"] == ["STATE_CANCELED"] * 2


def test_a_template_serves_tasks_of_every_kind(found: dict[str, Any]) -> None:
    assert found["command"] == ["echo", "by template"]
    assert found["from_template"] == ["echo", "by template"]


def test_a_command_without_an_entrypoint_ends_at_once(
    found: dict[str, Any], place: Cluster
) -> None:
    path = f"/api/v1/commands/{found['empty']}"
    ended = until(
        lambda: (c := place.get(path)["command"])["state"] == "STATE_TERMINATED" and c,
        what="the end of a command",
    )
    assert ended["exitStatus"] == "allocation exited successfully"


def test_restarts_are_counted_without_the_last_failure(found: dict[str, Any]) -> None:
    assert found["restarts"] == 2


def test_webhooks_deliver_states_lines_and_alerts_with_a_signature(found: dict[str, Any]) -> None:
    events = {name: found[f"hook_{name}"] for name in ("test", "line", "alert", "state")}
    assert [is_signed for _, is_signed in events.values()] == [True] * 4
    assert events["test"][0]["event_data"] == {"data": "test"}
    assert events["line"][0]["event_data"]["task_log"]["triggering_log"] == "told you\n"
    assert events["alert"][0]["event_data"]["custom_data"]["title"] == "t"
    assert events["state"][0]["event_data"]["experiment"]["state"] == "CANCELED"


def test_webhooks_are_changed_and_deleted(found: dict[str, Any]) -> None:
    assert found["hooks"] == [["ended", "http://example.org/"]]
    assert found["hooks_left"] == 0


def test_webhooks_without_names_get_names_of_their_own(found: dict[str, Any]) -> None:
    first, second = found["hooks_without_names"]
    assert first.startswith("127.0.0.1 CANCELED #")
    assert first != second


def test_the_stream_of_the_published_client_gets_changes(client: Client) -> None:
    found = client.script("sdk_stream.py", "admin", PASSWORD)
    assert found["project"]["name"] == "first"
    assert (found["model"]["name"], found["model"]["labels"]) == ("streamed", ["a"])
    assert found["changed"]["seq"] > found["model"]["seq"]
    assert str(found["model_id"]) in found["deleted"].values()
    assert found["again"]["sync_id"] == "2"


@pytest.fixture(scope="module")
def used(scripting: Client) -> dict[str, Any]:
    """The answers to scripts about workspaces, files, logs and the cluster."""
    answers: dict[str, Any] = scripting.script("sdk_cluster.py", "admin", PASSWORD)
    return answers


def test_settings_of_older_scripts_are_taken(used: dict[str, Any]) -> None:
    assert (used["group"]["agentGid"], used["group"]["agentGroup"]) == (1234, "lab")
    assert used["lenient"] == "STATE_QUEUED"  # `agent_label` and `tensorboard_storage`
    assert (used["shm_1 gi"], used["shm_1 i"]) == (400, 400)


def test_nothing_starts_in_an_archived_workspace_and_tasks_of_a_deleted_one_leave_the_list(
    used: dict[str, Any],
) -> None:
    status, text = used["in_archived"]
    assert (status, "is archived" in text) == (404, True)
    assert used["archived_listed"] == []
    assert used["notebooks"] is False
    assert used["bind_default"][0] == 400
    assert "cannot be bound to any workspace" in used["bind_default"][1]


def test_a_deleted_checkpoint_keeps_its_resources_and_tensorboard_files_are_gone_at_once(
    used: dict[str, Any],
) -> None:
    assert used["kept_resources"] == [True, True]
    assert used["events"] == [1, 0]


def test_a_nul_comes_back_and_each_log_policy_is_named(used: dict[str, Any]) -> None:
    assert used["nul"]
    assert 'matched regex "CUDA"); therefore will not schedule on agent-' in used["policies"]
    assert 'matched regex "err")' in used["policies"]
    assert 'matched regex "or$")' in used["policies"]
    assert used["runs"] == 0


def test_health_prometheus_and_refusals_have_their_known_forms(used: dict[str, Any]) -> None:
    [manager] = used["health"]["resource_managers"]
    assert manager["status"] == "up"
    assert "det_agent_slots{" in used["prometheus"]
    assert {target["labels"]["det_agent_id"] for target in used["targets"]} == {
        "agent-0",
        "agent-1",
    }
    assert (used["unknown"][0], "not found" in used["unknown"][1]) == (404, True)
    assert used["twice"][0] == 409
