"""What a start that was killed leaves behind stops no later start."""

from __future__ import annotations

import itertools
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from determined_master.store.embedded.files import Account, Layout, account

pytestmark = pytest.mark.slow

PREPARES = """
import os, signal, sys
from pathlib import Path
from determined_master.store.embedded.files import (
    Layout, account, ensure_password, make_directories
)

def prepare(root, last):
    calls = 0

    def counted(real):
        def call(*arguments, **more):
            nonlocal calls
            calls += 1
            if calls == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **more)
        return call

    owner = account()
    for name in ("chmod", "chown", "fdopen", "fsync", "mkdir", "open", "rename"):
        setattr(os, name, counted(getattr(os, name)))
    layout = Layout(Path(root))
    make_directories(layout, owner)
    ensure_password(layout, owner)

for line in sys.stdin:
    root, last = line.split()
    child = os.fork()
    if not child:
        prepare(root, int(last))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Each preparation has a process of its own, which imports nothing again."""
NEVER = 0


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the server's account can pass."""
    with tempfile.TemporaryDirectory(prefix="det-", dir="/tmp") as made:
        Path(made).chmod(0o711)
        yield Path(made)


@pytest.fixture
def preparing() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PREPARES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def prepare(preparing: subprocess.Popen[str], layout: Layout, last_call: int) -> int:
    """Prepare a first start, killed at one of its calls of the system; how it ended."""
    assert preparing.stdin is not None
    assert preparing.stdout is not None
    preparing.stdin.write(f"{layout.root} {last_call}\n")
    preparing.stdin.flush()
    ended = int(preparing.stdout.readline())
    assert ended in (0, -signal.SIGKILL)
    return ended


def test_a_first_start_may_be_killed_between_any_two_of_its_steps(
    place: Path, preparing: subprocess.Popen[str]
) -> None:
    owner = account()
    for last_call in itertools.count(1):
        layout = Layout(place / str(last_call) / "postgres")
        was_killed = prepare(preparing, layout, last_call) != 0
        assert prepare(preparing, layout, NEVER) == 0
        check(layout, owner)
        if not was_killed:
            break
    assert last_call > 10, "each step was a kill"


def check(layout: Layout, owner: Account | None) -> None:
    """All is there, and PostgreSQL's account can use it."""
    mode = 0o700 if owner is None else 0o711
    for directory in (layout.root.parent, layout.root):
        assert stat.S_IMODE(directory.stat().st_mode) == mode
    for path, mode in ((layout.socket_dir, 0o700), (layout.password, 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert path.stat().st_uid == (os.getuid() if owner is None else owner.uid)
    assert len(layout.password.read_text().strip()) > 20
