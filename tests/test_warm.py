"""Commands that are forked from a warm interpreter are as those of a new one."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.warm import Warm

LIMIT_S = 30
SOURCE = """
import json, os, sys
SEEN = sys.argv[1:]
if __name__ == "__main__":
    what = SEEN[0]
    if what == "tell":
        told = [SEEN, os.getcwd(), dict(os.environ), sys.stdin.read(), os.getsid(0) == os.getpid()]
        print(json.dumps(told))
    elif what == "leave":
        sys.exit(int(SEEN[1]) if SEEN[1].isdigit() else SEEN[1])
    elif what == "fail":
        print("before")
        raise ValueError("it failed")
    elif what == "hang":
        sys.stdin.close()
        import signal
        signal.pause()
"""


@pytest.fixture
def warm(tmp_path: Path) -> Iterator[Warm]:
    (tmp_path / "told.py").write_text(SOURCE)
    made = Warm(Path(sys.executable), "json.tool")
    yield made
    made.close()


def both(warm: Warm, where: Path, *words: str, typed: str = "") -> list[tuple[int, str, str]]:
    """Status, output and last line of the error output, forked and of a new interpreter."""
    env = {"PATH": os.environ["PATH"], "NAME": "worth", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-m", "told", *words]
    new = subprocess.run(
        command,
        env=env,
        cwd=where,
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    forked = warm.run(["told", *words], env, where, typed, LIMIT_S)
    return [(each.returncode, each.stdout, each.stderr.strip()[-19:]) for each in (forked, new)]


@pytest.mark.parametrize(
    "words",
    [("tell", "a b", "ü"), ("leave", "3"), ("leave", "a reason"), ("fail",)],
    ids=["what it was given", "its status", "a text as its status", "an exception"],
)
def test_a_command_runs_as_in_a_new_interpreter(
    warm: Warm, tmp_path: Path, words: tuple[str, ...]
) -> None:
    forked, new = both(warm, tmp_path, *words, typed="typed\n")
    assert forked == new


def test_commands_are_apart_from_each_other(warm: Warm, tmp_path: Path) -> None:
    first = both(warm, tmp_path, "tell", "one", typed="1")
    second = both(warm, tmp_path, "tell", "two", typed="2")
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert first[0] != second[0]


@pytest.mark.parametrize("limit_s", [0.5, 0.0])
def test_a_command_that_hangs_is_killed(warm: Warm, tmp_path: Path, limit_s: float) -> None:
    """Also when the time is over before it has been forked."""
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run(["told", "hang"], {"PATH": os.environ["PATH"]}, tmp_path, "", limit_s)
    forked, new = both(warm, tmp_path, "leave", "4")
    assert forked == new
    assert working_in(tmp_path) == []


def working_in(directory: Path) -> list[int]:
    """Processes whose directory this is."""
    pids = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if link.readlink() == directory:
                pids.append(int(link.parent.name))
    return pids
