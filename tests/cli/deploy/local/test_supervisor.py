"""The supervisor keeps real processes running."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.deploy.conftest import until

from determined_deploy.local import layout, processes, specs, supervisor, supervisor_client

SLEEP = "import time; time.sleep(3600)"

pytestmark = pytest.mark.slow


def spec(
    cluster: layout.ClusterLayout, name: str, code: str = SLEEP, **options: object
) -> specs.ProcessSpec:
    argv = [sys.executable, "-S", "-c", code]
    quick = {"stop_grace_s": 30.0, "backoff_first_s": 0.05}
    return specs.ProcessSpec(name, argv, str(cluster.log(name)), **{**quick, **options})  # type: ignore[arg-type]


def status(cluster: layout.ClusterLayout, name: str) -> specs.ProcessStatus:
    return specs.list_status(cluster.status)[name]


def kill(cluster: layout.ClusterLayout, name: str) -> int:
    pid = status(cluster, name).pid
    os.kill(pid, signal.SIGKILL)
    return pid


def test_the_supervisor_restarts_a_killed_process(cluster: layout.ClusterLayout) -> None:
    supervisor_client.apply(cluster, [spec(cluster, "a")])
    pid = kill(cluster, "a")
    until(lambda: status(cluster, "a").pid not in (0, pid))
    found = status(cluster, "a")
    assert (found.state, found.restarts, found.exit_code) == ("running", 1, -signal.SIGKILL)


def test_the_backoff_grows_with_each_restart(cluster: layout.ClusterLayout) -> None:
    stamp = "import time; print(time.monotonic(), flush=True); raise SystemExit(3)"
    supervisor_client.apply(cluster, [spec(cluster, "a", stamp, backoff_first_s=0.1)])
    until(lambda: len(cluster.log("a").read_text().split()) >= 4)
    starts = [float(word) for word in cluster.log("a").read_text().split()[:4]]
    first, second, third = (b - a for a, b in itertools.pairwise(starts))
    assert first >= 0.1
    assert second >= 0.2
    assert third >= 0.4
    assert status(cluster, "a").exit_code == 3


def test_without_autorestart_only_a_command_restarts_a_process(
    cluster: layout.ClusterLayout,
) -> None:
    once = spec(cluster, "a", autorestart=False)
    supervisor_client.apply(cluster, [once, spec(cluster, "b")])
    kill(cluster, "a")
    until(lambda: status(cluster, "a").state == "exited")
    assert status(cluster, "a").restarts == 0
    supervisor_client.apply(cluster, [once])
    until(lambda: status(cluster, "a").state == "running")


def test_the_next_supervisor_adopts_the_processes_of_a_killed_one(
    cluster: layout.ClusterLayout,
) -> None:
    supervisor_client.apply(cluster, [spec(cluster, "a")])
    first = supervisor_client.find_supervisor(cluster)
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    assert processes.wait_gone([first], 60) == []
    pid = status(cluster, "a").pid
    assert status(cluster, "a").process is not None
    supervisor_client.apply(cluster, [spec(cluster, "a"), spec(cluster, "b")])
    assert status(cluster, "a").pid == pid
    assert supervisor_client.find_supervisor(cluster) not in (None, first)
    kill(cluster, "a")
    until(lambda: status(cluster, "a").pid not in (0, pid))


def test_withdraw_stops_only_the_named_processes(cluster: layout.ClusterLayout) -> None:
    supervisor_client.apply(cluster, [spec(cluster, "a"), spec(cluster, "b")])
    gone, kept = status(cluster, "a").process, status(cluster, "b").process
    assert supervisor_client.withdraw(cluster, ["a", "nosuch"]) == {"a"}
    assert gone is not None
    assert not processes.is_alive(gone)
    assert kept is not None
    assert processes.is_alive(kept)


def test_a_process_that_is_stopped_as_it_starts_ends_alone(cluster: layout.ClusterLayout) -> None:
    started = spec(cluster, "a")
    script = f"""
import os, signal, pathlib
from determined_deploy.local import layout, specs, supervisor
cluster = layout.ClusterLayout("c", pathlib.Path({str(cluster.root)!r}))
wake = supervisor._watch_signals()
new_session = os.setsid
os.setsid = lambda: (os.kill(os.getpid(), signal.SIGTERM), new_session())
process = supervisor._spawn(specs.ProcessSpec("a", {started.argv!r}, {started.log!r}), cluster)
signal.alarm(20)  # it would sleep on
_, status = os.waitpid(process.pid, 0)
try:
    told = os.read(wake, 100)
except BlockingIOError:
    told = b""
print(-os.waitstatus_to_exitcode(status), signal.SIGTERM in told)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == (f"{signal.SIGTERM:d} False\n", "")


def test_the_supervisor_exits_when_no_process_is_left(cluster: layout.ClusterLayout) -> None:
    supervisor_client.apply(cluster, [spec(cluster, "a")])
    supervisor_client.withdraw(cluster, ["a"])
    until(lambda: supervisor_client.find_supervisor(cluster) is None)
    assert specs.list_status(cluster.status) == {}


def test_a_process_that_ignores_sigterm_is_killed(cluster: layout.ClusterLayout) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('deaf', flush=True); time.sleep(3600)"
    )
    supervisor_client.apply(cluster, [spec(cluster, "a", deaf, stop_grace_s=0.2)])
    until(lambda: cluster.log("a").read_text() == "deaf\n")
    process = status(cluster, "a").process
    supervisor_client.withdraw(cluster, ["a"])
    assert process is not None
    assert not processes.is_alive(process)


def test_sigterm_stops_processes_in_reverse_order(cluster: layout.ClusterLayout) -> None:
    slow_end = (  # whole lines: unbuffered, print() may be interrupted before its line break
        "import os, signal, sys, time; "
        "signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.2), "
        "os.write(1, b'%f\\n' % time.monotonic()), sys.exit())); "
        "os.write(1, b'up\\n'); time.sleep(3600)"
    )
    wanted = [spec(cluster, "low", slow_end), spec(cluster, "high", slow_end, order=10)]
    supervisor_client.apply(cluster, wanted)
    until(lambda: all(cluster.log(n).read_text() for n in ("low", "high")))
    supervisor = supervisor_client.find_supervisor(cluster)
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGTERM)
    assert processes.wait_gone([supervisor], 60) == []
    low, high = (float(cluster.log(n).read_text().split()[1]) for n in ("low", "high"))
    assert high + 0.15 < low


def test_the_log_has_the_error_of_a_failed_start(
    cluster: layout.ClusterLayout,
) -> None:
    wanted = specs.ProcessSpec("a", ["/nosuch/program"], str(cluster.log("a")), autorestart=False)
    supervisor_client.apply(cluster, [wanted])
    until(lambda: status(cluster, "a").state == "exited")
    assert "could not start a (/nosuch/program)" in cluster.log("a").read_text()


def test_the_supervisor_is_detached_and_small(cluster: layout.ClusterLayout) -> None:
    supervisor_client.apply(cluster, [spec(cluster, "a")])
    supervisor = supervisor_client.find_supervisor(cluster)
    assert supervisor is not None
    fields = Path(f"/proc/{supervisor.pid}/stat").read_text().rsplit(")", 1)[1].split()
    assert int(fields[1]) != os.getpid()
    resident = Path(f"/proc/{supervisor.pid}/statm").read_text().split()[1]
    assert int(resident) * os.sysconf("SC_PAGE_SIZE") < 20 * 2**20


def test_a_reused_pid_is_not_signalled() -> None:
    here = processes.identify(os.getpid())
    assert here is not None
    stale = processes.ProcessIdentity(here.pid, "1")
    assert not processes.is_alive(stale)
    assert processes.end([stale], grace_s=0.0) == []
    assert here == processes.identify(os.getpid())


def test_descendants_are_found_by_parent_and_by_session(cluster: layout.ClusterLayout) -> None:
    family = (
        "import subprocess, sys, time; "
        "subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(3600)'], "
        "start_new_session=True); print('up', flush=True); time.sleep(3600)"
    )
    supervisor_client.apply(cluster, [spec(cluster, "a", family)])
    until(lambda: cluster.log("a").read_text() == "up\n")
    parent = status(cluster, "a").process
    assert parent is not None
    (child,) = processes.descendants([parent])
    processes.end([parent, child], grace_s=0.0)
    assert not processes.is_alive(child)


def test_a_log_above_its_limit_is_rotated_and_old_files_are_deleted(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    for number in range(5):
        log.write_text(str(number) * 20)
        assert supervisor.rotate(str(log), limit_bytes=10, keep=3)
    assert log.read_text() == ""
    kept = {path.name: path.read_text()[0] for path in tmp_path.glob("x.log.*")}
    assert kept == {"x.log.1": "4", "x.log.2": "3", "x.log.3": "2"}
    log.write_text("short")
    assert not supervisor.rotate(str(log), limit_bytes=10, keep=3)
    assert not supervisor.rotate(str(tmp_path / "none"), limit_bytes=10, keep=3)


def test_a_process_keeps_writing_after_its_log_is_rotated(
    cluster: layout.ClusterLayout,
) -> None:
    writer = "import time\nwhile True: print('x' * 99, flush=True); time.sleep(0.005)"
    supervisor_client.apply(cluster, [spec(cluster, "a", writer, log_bytes=2000)])
    moved = Path(f"{cluster.log('a')}.1")
    until(moved.exists)
    until(lambda: cluster.log("a").read_text().startswith("x"))  # it may be rotated at any time
