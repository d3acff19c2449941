"""What a run leaves behind when it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.quick_disk import quick_directory
from tests.watchdog import Watchdog, members

pytestmark = pytest.mark.slow

OWNER = """
import subprocess, sys, time
from pathlib import Path
from tests.quick_disk import quick_directory
from tests.watchdog import Watchdog
root = Path(sys.argv[1].removeprefix("root="))
dog = Watchdog(root)
child = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; "
child += "time.sleep(600)']); time.sleep(600)"
mark = {"IN": str(root / "x")}
subprocess.Popen([sys.executable, "-c", child], env=mark, start_new_session=True)
print(dog.pid, flush=True)
time.sleep(600)
"""


def until(claim: Callable[[], object], what: str) -> None:
    give_up_at = time.monotonic() + 60
    while not claim():
        assert time.monotonic() < give_up_at, what
        time.sleep(0.02)


def test_a_run_that_is_killed_leaves_no_process_and_no_directory() -> None:
    root = Path(tempfile.mkdtemp(prefix="det-dog-", dir="/tmp"))
    database = quick_directory("det-dog-")
    (root / "db").symlink_to(database)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, f"root={root}"], stdout=subprocess.PIPE, env=environment
    ) as owner:
        assert owner.stdout is not None
        dog = int(owner.stdout.readline())
        others = {owner.pid, dog}
        until(lambda: len(members(str(root)) - others) == 2, "a process and its child")
        left = members(str(root)) - others
        owner.send_signal(signal.SIGKILL)
    until(lambda: not root.exists(), "the end of the directory")
    assert not database.exists()
    assert [pid for pid in left if Path(f"/proc/{pid}/stat").exists() and _lives(pid)] == []
    until(lambda: not _lives(dog), "the end of the watchdog")


def test_a_watchdog_that_is_dismissed_touches_nothing(tmp_path: Path) -> None:
    root = Path(tempfile.mkdtemp(prefix="det-dog-", dir="/tmp"))
    try:
        with subprocess.Popen([sys.executable, "-c", "input()", str(root)], stdin=-1) as kept:
            with Watchdog(root) as dog:
                pass
            assert not _lives(dog.pid)
            assert root.exists()
            assert kept.poll() is None
            kept.kill()
    finally:
        root.rmdir()


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
