"""Listing, killing and changing interactive tasks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli import canned, canned_tasks
from tests.cli.canned_tasks import ID, OTHER
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster, error

KINDS = ["command", "notebook", "shell", "tensorboard"]
MISSING = error(404, 5, "NotFound", "shell 'nope' not found")


@pytest.mark.parametrize("kind", KINDS)
def test_list_prints_the_users_own_tasks(det: Det, master: FakeMaster, kind: str) -> None:
    canned_tasks.serve(master, kind)
    boards = "experimentIds,trialIds," if kind == "tensorboard" else ""
    shown = '"7, 8",11,' if boards else ""
    title = canned_tasks.TITLES[kind]
    assert det(kind, "list", "--csv").out.splitlines() == [
        f"id,username,description,state,{boards}exitStatus,resourcePool,workspaceName",
        f"{ID},determined,{title} (oddly-calm-heron),RUNNING,{shown},default,Uncategorized",
    ]
    (call,) = master.made("GET", f"/api/v1/{kind}s")
    assert call.query["users"] == ["determined"]


def test_list_can_print_all_tasks_of_one_workspace(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "shell")
    assert det("shell", "ls", "--all", "-w", "lab").status == 0
    (call,) = master.made("GET", "/api/v1/shells")
    assert "users" not in call.query
    assert call.query["workspaceId"] == ["3"]


def test_list_sorts_and_can_print_only_ids(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "command")
    tasks = [
        canned_tasks.task("command", description="b", startTime=canned.T0),
        canned_tasks.task("command", id=OTHER, description="a", startTime=canned.T1),
    ]
    master.routes["GET", "/api/v1/commands"] = (200, canned.page("commands", *tasks))
    assert det("cmd", "list", "-q").out.split() == [ID, OTHER]
    assert det("cmd", "list", "-q", "--order-by", "desc").out.split() == [OTHER, ID]
    assert det("cmd", "list", "-q", "--sort-by", "description").out.split() == [OTHER, ID]


def test_json_output_has_every_field_of_the_answer(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "command")
    added = {"state": "RUNNING", "workspaceName": "Uncategorized"}
    expected = {**canned_tasks.task("command"), **added}
    assert json.loads(det("cmd", "list", "--json").out) == [expected]
    assert json.loads(det("cmd", "describe", ID, "--json").out) == expected


def test_a_noun_without_a_command_lists(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "notebook")
    assert det("notebook").out == det("notebook", "list").out


@pytest.mark.parametrize("kind", KINDS)
def test_config_is_printed_and_priority_is_set(det: Det, master: FakeMaster, kind: str) -> None:
    canned_tasks.serve(master, kind)
    assert det(kind, "config", ID).out == "description: d\nresources:\n  slots: 1\n"
    assert f"{ID} to 7" in det(kind, "set", "priority", ID, "7").out
    (call,) = master.made("POST", f"/api/v1/{kind}s/{ID}/set_priority")
    assert call.json == {"priority": 7}


def test_logs_prints_the_log_of_the_task(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "tensorboard")
    said = det("tensorboard", "logs", ID, "--level", "ERROR")
    assert "INFO: first" in said.out
    (call,) = master.made("GET", f"/api/v1/tasks/{ID}/logs")
    assert call.query["levels"] == ["LOG_LEVEL_ERROR", "LOG_LEVEL_CRITICAL"]


def test_a_prefix_of_an_id_is_completed(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "shell")
    assert det("shell", "kill", ID[:4]).out == f"Killed shell {ID}\n"


@pytest.mark.parametrize(
    ("kind", "title"),
    [("command", "Command"), ("notebook", "Notebook"), ("tensorboard", "TensorBoard")],
)
def test_killing_what_has_ended_says_so(
    det: Det, master: FakeMaster, kind: str, title: str
) -> None:
    canned_tasks.serve(master, kind, state="STATE_TERMINATED")
    assert det(kind, "kill", ID).out == f"{title} {ID} had ended already: TERMINATED\n"


def test_an_ambiguous_prefix_lists_the_matches(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "shell")
    both = [canned_tasks.task("shell"), canned_tasks.task("shell", id=OTHER)]
    master.routes["GET", "/api/v1/shells"] = (200, canned.page("shells", *both))
    outcome = det("shell", "kill", ID[:8])
    assert outcome.status == 1
    assert ID in outcome.err
    assert OTHER in outcome.err
    assert master.made("POST", f"/api/v1/shells/{ID}/kill") == []


def killed(det: Det, master: FakeMaster, *options: str) -> Any:
    canned_tasks.serve(master, "shell")
    master.routes["GET", "/api/v1/shells/nope"] = MISSING
    outcome = det("shell", "kill", "nope", ID, *options)
    return outcome, len(master.made("POST", f"/api/v1/shells/{ID}/kill"))


def test_kill_stops_at_a_missing_task(det: Det, master: FakeMaster) -> None:
    outcome, others = killed(det, master)
    assert outcome.status == 1
    assert outcome.err == "Failed to kill shell: shell 'nope' not found\n"
    assert others == 0


def test_a_forced_kill_continues_past_failures(det: Det, master: FakeMaster) -> None:
    outcome, others = killed(det, master, "-f")
    assert outcome.status == 0
    assert outcome.err == "Skipped nope: shell 'nope' not found\n"
    assert others == 1
