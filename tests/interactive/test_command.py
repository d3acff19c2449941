"""Commands as an agent starts them."""

from __future__ import annotations

import sys

import pytest
from tests.covers import covers
from tests.interactive.conftest import Starter

pytestmark = [pytest.mark.slow, pytest.mark.e2e]
BARE = [sys.executable, "-S"]


@covers("task-contract 3.1.command")
def test_a_command_runs_in_its_directory_and_ends_with_its_code(start: Starter) -> None:
    running = start("COMMAND", BARE, entrypoint=["pwd; echo $MINE; exit 7"], env={"MINE": "x y"})
    assert running.process.wait(60) == 7
    assert running.text == f"{running.task.work_dir}\nx y\n"


@covers("task-contract 3.1.command")
def test_a_command_of_several_words_sees_no_shell(start: Starter) -> None:
    running = start("COMMAND", BARE, entrypoint=["printf", "%s|", "a b", "$HOME"])
    assert running.process.wait(60) == 0
    assert running.text == "a b|$HOME|"
