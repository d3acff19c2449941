"""`det command` against a cluster."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.cluster import until
from tests.e2e.live.conftest import Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live

NO_SLOTS = ("--config", "resources.slots=0")
SAYS = """
import os, pathlib, sys
print("says", sys.argv[1:], pathlib.Path("extra.txt").read_text(), os.environ["TONE"], flush=True)
sys.exit(3)
"""
WAITS = "while true; do sleep 0.05; done"


def command(person: Person, task_id: str) -> dict[str, Any]:
    found: dict[str, Any] = person.cluster.get(f"/api/v1/commands/{task_id}")["command"]
    return found


def reaches(person: Person, task_id: str, state: str) -> None:
    until(
        lambda: command(person, task_id)["state"] == f"STATE_{state}", what=f"{state} of {task_id}"
    )


def waiting(person: Person, *options: object) -> str:
    """A command that runs until it is killed."""
    return person.det("cmd", "run", "-d", *NO_SLOTS, *options, WAITS).out.strip()


@live("command run", "command config", "command describe", "command logs")
def test_a_program_is_printed_and_its_status_is_the_commands_own(person: Person) -> None:
    folder = person.model(SAYS)
    extra = person.folder / "extra.txt"
    extra.write_text("more")
    config = person.file("environment: {environment_variables: [TONE=loud]}")
    options = ("--config-file", config, *NO_SLOTS, "-c", folder, "-i", extra)
    said = person.det("cmd", "run", *options, "python3", "train.py", "-d", "x", code=3)
    assert "says ['-d', 'x'] more loud" in said.out
    task_id = said.out.partition("(id: ")[2].partition(",")[0]
    [row] = person.det("cmd", "describe", task_id, "--csv").rows()
    assert row["state"] == "TERMINATED"
    assert "exit code 3" in row["exitStatus"]
    assert row["workspaceName"] == "Uncategorized"
    assert "TONE=loud" in person.det("cmd", "config", task_id).out
    assert "says ['-d', 'x']" in person.det("cmd", "logs", task_id[:8]).out
    wrong = person.det("cmd", "run", "--config", "nope=1", "true", code=1).err
    assert "nope" in wrong


@live("command run")
def test_one_word_is_read_by_a_shell(person: Person) -> None:
    said = person.det("cmd", "run", *NO_SLOTS, "echo $((6 * 7)) | tr 4 X")
    assert "X2\n" in said.out


@live("command list", "command kill", "command set priority")
def test_commands_are_listed_moved_and_killed(person: Person) -> None:
    first, second = waiting(person), waiting(person)
    rows = {row["id"]: row for row in person.det("cmd", "list", "--csv").rows()}
    assert {first, second} <= rows.keys()
    assert rows[first]["username"] == "admin"
    assert rows[first]["description"].startswith("Command (")
    assert person.det("cmd", "list", "-q", "--order-by", "desc").out.split()[:2] == [second, first]
    said = person.det("cmd", "set", "priority", first, "7").out
    assert said == f"Set priority of command {first} to 7\n"
    assert "priority: 7" in person.det("cmd", "config", first).out
    refused = person.det("cmd", "kill", "nope", first, code=1).err
    assert "command 'nope' not found" in refused
    person.det("cmd", "kill", "nope", first, second[:13], "--force")
    for task_id in (first, second):
        reaches(person, task_id, "TERMINATED")
    for noun in ("command", "task"):
        said = person.det(noun, "kill", first).out
        assert said == f"{noun.title()} {first} had ended already: TERMINATED\n"


@live("command run")
def test_a_program_that_a_signal_ends_has_the_status_that_shells_give_it(person: Person) -> None:
    person.det("cmd", "run", *NO_SLOTS, "kill -9 $$", code=137)
