"""What a comparison of a machine before and after a run of tests finds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.left_behind import LeftBehind, report
from tests.machine_state import (
    MARK,
    Difference,
    MachineState,
    Process,
    differences,
    snapshot,
)

ROOT = Path(__file__).parents[1]
OWN_MARK = f"run-{os.getpid()}"
"""The mark of a run; other workers run these tests too."""
RUN, OTHER = 70, 80
SLEEPS = "import socket, sys, time; s = socket.create_server(('127.0.0.1', 0)); "
SLEEPS += "print(s.getsockname()[1], flush=True); time.sleep(600)"
LEAVES = """
from pathlib import Path
def test_leaves_a_file():
    Path(__file__).parents[1].joinpath("left").touch()
"""
CHANGES = """
import json, os, subprocess, sys
from pathlib import Path
from tests.machine_state import differences, snapshot
before = snapshot(Path("/"), "m")
for command in sys.argv[1:]:
    subprocess.run(command.split(), check=True)
changes = differences(before, snapshot(Path("/"), "m"), os.getpid())
print(json.dumps([[c.kind, c.change, c.name] for c in changes]))
"""


def process(pid: int, parent: int, started_at: int = 5, **overrides: Any) -> Process:
    made = Process(pid, started_at, parent, f"program {pid}", is_marked=False)
    return made._replace(**overrides)


def state(*processes: Process, **things: set[str]) -> MachineState:
    return MachineState({k: frozenset(v) for k, v in things.items()}, processes)


def test_both_what_is_new_and_what_is_gone_are_differences() -> None:
    changes = differences(state(mount={"a", "b"}), state(mount={"b", "c"}), RUN)
    assert [str(change) for change in changes] == ["new mount: c", "gone mount: a"]
    assert not any(change.is_of_the_run for change in changes)


def test_processes_that_count_are_marked_or_descendants_or_orphans_of_tests() -> None:
    before = state(process(1, 0), process(RUN, 1), process(OTHER, 1))
    after = state(
        *before.processes,
        process(71, RUN),
        process(72, 71),
        process(73, OTHER, is_marked=True),
        process(74, 1, command="dockerd --data-root /tmp/det-docker-x/data"),
        process(75, 1),
        process(76, OTHER, command="tail /tmp/det-docker-x/log"),
    )
    changes = differences(before, after, RUN)
    assert [(c.name.split("(")[0], c.is_of_the_run) for c in changes] == [
        ("71 ", True),
        ("72 ", True),
        ("73 ", True),
        ("74 ", False),
    ]


def test_a_later_process_of_the_same_id_is_another_one() -> None:
    changes = differences(state(process(90, RUN)), state(process(90, RUN, started_at=6)), RUN)
    assert len(changes) == 1


def test_counted_differences_are_printed_first_and_the_others_are_bounded() -> None:
    own = Difference("process", "new", "71 (program)", True)
    others = [Difference("file", "new", f"/etc/{n}", False) for n in range(25)]
    lines = report([*others, own], [own])
    assert lines[0] == "the run has left behind: new process: 71 (program)"
    assert lines[1] == "changed meanwhile, perhaps by others: new file: /etc/0"
    assert lines[-1] == "changed meanwhile, perhaps by others: 5 more"
    assert report([], []) == []


@pytest.fixture
def started() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process with a run's mark that listens, and its port."""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPS],
        env={MARK: OWN_MARK},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        yield child, int(child.stdout.readline())
        child.kill()


def test_a_process_is_found_by_its_mark_with_its_ports(
    started: tuple[subprocess.Popen[str], int],
) -> None:
    child, port = started
    after = snapshot(ROOT, OWN_MARK)
    own = next(p for p in after.processes if p.pid == child.pid)
    assert own.is_marked
    before = after._replace(processes=tuple(p for p in after.processes if p.pid != child.pid))
    changes = differences(before, after, run=-1)
    assert [change.kind for change in changes] == ["process"]
    assert changes[0].is_of_the_run
    assert f", listens on {port})" in changes[0].name


def test_a_process_that_is_left_fails_a_run(
    monkeypatch: pytest.MonkeyPatch, started: tuple[subprocess.Popen[str], int]
) -> None:
    # Not this process: servers that other tests share are its descendants, too.
    program = "read go; sleep 600 & echo $!; wait"
    pipe = subprocess.PIPE
    with subprocess.Popen(["sh", "-c", program], stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        monkeypatch.setenv(MARK, "another-run")
        watch = LeftBehind(is_strict=False, patience_s=0, run=parent.pid)
        monkeypatch.setenv(MARK, OWN_MARK)
        session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
        watch.pytest_sessionfinish(session)
        assert session.exitstatus == pytest.ExitCode.OK
        print(file=parent.stdin, flush=True)
        pid = int(parent.stdout.readline())
        watch.pytest_sessionfinish(session)
        os.kill(pid, signal.SIGKILL)
    assert session.exitstatus == pytest.ExitCode.TESTS_FAILED
    lines: list[str] = []
    watch.pytest_terminal_summary(SimpleNamespace(write_line=lines.append))  # type: ignore[arg-type]
    assert lines[0].startswith(f"the run has left behind: new process: {pid} (sleep 600")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ci", "workers", "status", "said"),
    [
        ("true", "0", 1, "the run has left behind"),
        ("", "1", 0, "changed meanwhile, perhaps by others"),
    ],
)
def test_every_difference_fails_a_run_of_a_machine_for_tests_alone(
    tmp_path: Path, ci: str, workers: str, status: int, said: str
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "tests").mkdir()
    for name in ("left_behind.py", "machine_state.py"):
        shutil.copy2(ROOT / "tests" / name, tmp_path / "tests" / name)
    (tmp_path / "tests/test_it.py").write_text(LEAVES)
    (tmp_path / ".gitignore").write_text("__pycache__\n.pytest_cache\n/tests\n")
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", MARK))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.left_behind", "-n", workers, "tests"],
        cwd=tmp_path,
        env=own | {"CI": ci},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert "1 passed" in done.stdout
    assert f"{said}: new checkout file: {tmp_path / 'left'}\n" in done.stdout
    assert done.returncode == status


def test_a_file_that_git_does_not_ignore_is_a_difference(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("ignored\n")
    before = snapshot(tmp_path, "m").things["checkout file"]
    (tmp_path / "ignored").touch()
    (tmp_path / "left").touch()
    assert snapshot(tmp_path, "m").things["checkout file"] - before == {str(tmp_path / "left")}


def test_two_snapshots_cost_less_than_a_second_of_processor_time() -> None:
    began = sum(os.times()[:4])
    snapshot(ROOT, "m")
    snapshot(ROOT, "m")
    assert sum(os.times()[:4]) - began < 1


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="namespaces of networks and mounts need root")
def test_changes_of_network_and_mounts_are_found() -> None:
    """In namespaces of their own."""
    commands = (
        "ip link delete docker0",
        "ip link add det0 type bridge",
        "iptables -A INPUT -j ACCEPT",
        "mount -t tmpfs none /mnt",
    )
    shell = "ip link add docker0 type bridge; iptables -N OURS; " + 'exec "$@"'
    done = subprocess.run(
        [
            *("unshare", "--net", "--mount", "sh", "-euc", shell, "sh"),
            *(sys.executable, "-c", CHANGES, *commands),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    changes = json.loads(done.stdout)
    assert ["network interface", "gone", "docker0"] in changes
    assert ["network interface", "new", "det0"] in changes
    assert ["packet filter rule", "new", "iptables-save: -A INPUT -j ACCEPT"] in changes
    assert ["mount", "new", "/mnt (tmpfs of none)"] in changes
    assert not any("OURS" in name for _, _, name in changes)
