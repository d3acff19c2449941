"""The client of the supervisor: finds, starts and signals it."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from typing import Callable, Dict, Iterable, Iterator, Optional, Set

from determined.cli import errors
from determined_deploy.local import layout, processes, specs

_START_LIMIT_S = 10.0


@contextlib.contextmanager
def only_command(cluster: layout.ClusterLayout, limit_s: float = 120.0) -> Iterator[None]:
    """Lock out other `det deploy local` commands on this cluster.

    Raises:
        CliError: another command still holds the lock after `limit_s` seconds.
    """
    handle = os.open(str(cluster.command_lock), os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + limit_s
    try:
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise errors.CliError(
                    f"another 'det deploy local' command has been working on cluster "
                    f"{cluster.cluster!r} for {limit_s:.0f} s; wait for it or stop it"
                )
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def find_supervisor(cluster: layout.ClusterLayout) -> Optional[processes.ProcessIdentity]:
    """The supervisor of this cluster; None if none runs."""
    try:
        handle = os.open(str(cluster.supervisor_lock), os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if _try_lock(handle):
            return None
        text = os.read(handle, 32).decode()
    finally:
        os.close(handle)
    return processes.identify(int(text)) if text.isdigit() else None


def apply(cluster: layout.ClusterLayout, declared: Iterable[specs.ProcessSpec]) -> None:
    """Start processes: write their specs and signal the supervisor.

    Also restarts a process that has ended and stays ended (`--no-autorestart`).

    Raises:
        CliError: the supervisor did not start; the text names its log.
    """
    names = set()
    for spec in declared:
        specs.write_spec(cluster.specs, spec)
        names.add(spec.name)
    deadline = time.monotonic() + _START_LIMIT_S
    signalled = False
    while True:
        supervisor = find_supervisor(cluster)
        if supervisor is None:
            _start(cluster)
        elif not signalled:
            processes.send(supervisor, signal.SIGHUP)
            signalled = True
        if _wait(lambda: _has_started(cluster, names), 1.0):
            return
        if time.monotonic() > deadline:
            raise errors.CliError(
                f"the supervisor of cluster {cluster.cluster!r} did not start within "
                f"{_START_LIMIT_S:.0f} s; see {cluster.log('supervisor')}"
            )


def withdraw(
    cluster: layout.ClusterLayout, names: Iterable[str], limit_s: float = 60.0
) -> Set[str]:
    """Stop processes and delete their specs. The supervisor exits when none is left.

    Returns:
        The names that existed: specified, or still running.
    """
    by_name = specs.list_status(cluster.status)
    withdrawn = {n for n in names if specs.delete_spec(cluster.specs, n) or n in by_name}
    supervisor = find_supervisor(cluster)
    if supervisor is not None:
        processes.send(supervisor, signal.SIGHUP)
        _wait(lambda: not withdrawn & set(specs.list_status(cluster.status)), limit_s)
    end_left_behind(cluster, withdrawn)
    return withdrawn


def end_left_behind(cluster: layout.ClusterLayout, names: Iterable[str]) -> None:
    """End processes left by a dead supervisor, by their status files."""
    by_name: Dict[str, specs.ProcessStatus] = specs.list_status(cluster.status)
    for name in names:
        status = by_name.get(name)
        if status is not None and status.process is not None:
            processes.end([status.process], grace_s=15.0)
        specs.delete_status(cluster.status, name)


def _has_started(cluster: layout.ClusterLayout, names: Set[str]) -> bool:
    by_name = specs.list_status(cluster.status)
    statuses = (by_name.get(name) for name in names)
    return all(s is not None and (s.pid or s.exit_code is not None) for s in statuses)


def _start(cluster: layout.ClusterLayout) -> None:
    command = [sys.executable, "-m", "determined_deploy.local.supervisor", str(cluster.root)]
    cluster.log("supervisor").touch(mode=0o600)
    with open(cluster.log("supervisor"), "ab") as log:
        # It forks and its first process exits at once, so this does not block.
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environment(),
            start_new_session=True,
            check=False,
        )


def _environment() -> Dict[str, str]:
    """The environment of servers: without `DET_*`, and with absolute paths."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
    if env.get("PYTHONPATH"):
        parts = env["PYTHONPATH"].split(os.pathsep)
        env["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts)
    return env


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(claim: Callable[[], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
