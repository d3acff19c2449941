"""The supervisor: keeps the processes of one local cluster running.

Started as `python -m determined_deploy.local.supervisor DIR`, it detaches from the terminal,
takes the lock of the directory, and runs the processes of the spec files:

- SIGHUP: read the specs again, start new processes, stop removed ones.
- SIGTERM, SIGINT: stop all processes in reverse order, then exit.

It exits when no process is left. When it is killed, its processes keep running; the next
supervisor finds them by their status files and adopts them.
"""

import fcntl
import os
import pathlib
import select
import shutil
import signal
import sys
import time
from typing import Dict, List, Optional

from determined.common._backoff import Backoff
from determined_deploy.local import layout, processes, specs

_TICK_S = 0.5
_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


class _ChildProcess:
    """One spec and its process."""

    def __init__(self, spec: specs.ProcessSpec, status: Optional[specs.ProcessStatus]) -> None:
        self.spec = spec
        self.process = status.process if status else None
        self.adopted = self.process is not None
        self.restarts = status.restarts if status and self.adopted else 0
        self.exit_code: Optional[int] = None
        self.failures = 0
        self.started_s = time.monotonic()
        self.next_start_s: Optional[float] = None if self.adopted else self.started_s
        self.kill_at_s: Optional[float] = None

    @property
    def status(self) -> specs.ProcessStatus:
        if self.kill_at_s is not None:
            state = "stopping"
        elif self.process is not None:
            state = "running"
        else:
            state = "exited" if self.next_start_s is None else "waiting"
        pid, start = (self.process.pid, self.process.start) if self.process else (0, "")
        name = self.spec.name
        return specs.ProcessStatus(name, state, pid, start, self.restarts, self.exit_code)


class Supervisor:
    """Holds the processes by name, and runs a loop on signals, exits and due starts."""

    def __init__(self, cluster: layout.ClusterLayout) -> None:
        self._cluster = cluster
        self._children: Dict[str, _ChildProcess] = {}
        self._reload = True
        self._leaving = False

    def run(self, wake: int) -> None:
        """Serve until all processes are stopped. `wake` is readable after a signal."""
        while True:
            if self._reload:
                self._reload = False
                self._read_specs()
            self._reap()
            self._advance_stops()
            self._start_due()
            if not self._children:
                return
            select.select([wake], [], [], self._pause_s())
            self._take_signals(wake)

    def _take_signals(self, wake: int) -> None:
        try:
            numbers = set(os.read(wake, 4096))
        except BlockingIOError:
            return
        if signal.SIGHUP in numbers:
            self._reload = True
        if numbers & {signal.SIGTERM, signal.SIGINT}:
            self._leaving = True

    def _read_specs(self) -> None:
        declared = {spec.name: spec for spec in specs.list_specs(self._cluster.specs)}
        by_name = specs.list_status(self._cluster.status)
        for name, spec in declared.items():
            held = self._children.get(name)
            if held is None:
                self._children[name] = _ChildProcess(spec, by_name.get(name))
            elif held.process is None and held.kill_at_s is None:
                self._children[name] = _ChildProcess(spec, None)  # it has ended: start it at once
            else:
                held.spec = spec
            self._record(self._children[name])
        for name in set(self._children) - set(declared):
            self._stop(self._children[name])

    def _reap(self) -> None:
        by_pid = {c.process.pid: c for c in self._children.values() if c.process is not None}
        while True:
            try:
                pid, raw = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid in by_pid:
                self._ended(by_pid[pid], os.waitstatus_to_exitcode(raw))
        for child in self._children.values():
            if child.adopted and child.process and not processes.is_alive(child.process):
                self._ended(child, None)

    def _ended(self, child: _ChildProcess, exit_code: Optional[int]) -> None:
        ran_s = time.monotonic() - child.started_s
        child.process, child.adopted, child.exit_code = None, False, exit_code
        if child.kill_at_s is not None:
            return  # it is stopping; _advance_stops removes it
        child.failures = 0 if ran_s >= child.spec.healthy_after_s else child.failures + 1
        child.next_start_s = None
        if child.spec.autorestart:
            backoff = Backoff(child.spec.backoff_first_s, child.spec.backoff_max_s)
            child.next_start_s = time.monotonic() + backoff.after(child.failures)
            child.restarts += 1
        _log(f"{child.spec.name} ended with {exit_code} after {ran_s:.1f} s")
        self._record(child)

    def _advance_stops(self) -> None:
        if self._leaving:
            live = [c for c in self._children.values() if c.process is not None]
            last = max((c.spec.order for c in live), default=0)
            for child in list(self._children.values()):
                if child.process is None or child.spec.order == last:
                    self._stop(child)
        now_s = time.monotonic()
        for name, child in list(self._children.items()):
            if child.kill_at_s is None:
                continue
            if child.process is None:
                del self._children[name]
                specs.delete_status(self._cluster.status, name)
            elif now_s >= child.kill_at_s:
                _log(f"{name} did not stop within {child.spec.stop_grace_s} s: killed")
                processes.send(child.process, signal.SIGKILL)
                child.kill_at_s = now_s + 1.0

    def _stop(self, child: _ChildProcess) -> None:
        if child.kill_at_s is None:
            child.kill_at_s = time.monotonic() + child.spec.stop_grace_s
            if child.process is not None:
                processes.send(child.process, signal.SIGTERM)
            self._record(child)

    def _start_due(self) -> None:
        now_s = time.monotonic()
        for child in sorted(self._children.values(), key=lambda c: (c.spec.order, c.spec.name)):
            rotate(child.spec.log, child.spec.log_bytes, child.spec.keep_logs)
            due = child.next_start_s is not None and child.next_start_s <= now_s
            if due and child.process is None and child.kill_at_s is None and not self._leaving:
                child.process = _spawn(child.spec, self._cluster)
                child.started_s, child.next_start_s = now_s, None
                self._record(child)

    def _pause_s(self) -> float:
        due = [c.next_start_s for c in self._children.values() if c.next_start_s is not None]
        soonest = min(due, default=time.monotonic() + _TICK_S)
        quick = any(c.kill_at_s is not None or c.adopted for c in self._children.values())
        limit_s = 0.05 if quick and self._leaving else _TICK_S
        return max(0.0, min(soonest - time.monotonic(), limit_s))

    def _record(self, child: _ChildProcess) -> None:
        specs.write_status(self._cluster.status, child.status)


def _spawn(spec: specs.ProcessSpec, cluster: layout.ClusterLayout) -> processes.ProcessIdentity:
    """Start a process in its own session, with its output appended to its log."""
    # A signal to the new process before it has its own handlers would reach ours: it would be lost
    # there, and our pipe, which both have, would tell us to stop everything.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        identity = processes.identify(pid)
        return identity or processes.ProcessIdentity(pid, "")
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (*_SIGNALS, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        log = os.open(spec.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(str(cluster.root))
        os.execvpe(spec.argv[0], spec.argv, {**os.environ, **spec.env})
    except OSError as error:
        os.write(2, f"could not start {spec.name} ({spec.argv[0]}): {error}\n".encode())
    finally:
        os._exit(127)


def rotate(log: str, limit_bytes: int, keep: int) -> bool:
    """Move a log past `limit_bytes` to `<log>.1`, older ones up to `<log>.<keep>`.

    The writer has the file open for appending, so the file is copied and then truncated. The log
    may lose the few lines written in between; logs of tasks are not rotated here.

    Returns:
        Whether the log was larger than the limit.
    """
    try:
        if os.stat(log).st_size <= limit_bytes:
            return False
    except FileNotFoundError:
        return False
    for number in range(keep - 1, 0, -1):
        if os.path.exists(f"{log}.{number}"):
            os.replace(f"{log}.{number}", f"{log}.{number + 1}")
    shutil.copyfile(log, f"{log}.1")
    os.chmod(f"{log}.1", 0o600)
    os.truncate(log, 0)
    return True


def take_lock(cluster: layout.ClusterLayout) -> Optional[int]:
    """The open lock file, with this pid written to it; None if another supervisor holds it."""
    handle = os.open(str(cluster.supervisor_lock), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    os.ftruncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())
    return handle


def _log(text: str) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sys.stderr.write(f"{stamp} {text}\n")
    sys.stderr.flush()


def _watch_signals() -> int:
    """Return a descriptor that becomes readable on a signal."""
    wake, waker = os.pipe()
    for end in (wake, waker):
        os.set_blocking(end, False)
    for number in _SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    return wake


def main(arguments: List[str]) -> int:
    """Detach, take the lock and serve. Returns 0 also if another supervisor already serves."""
    root = pathlib.Path(arguments[0])
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir(str(root))
    wake = _watch_signals()
    cluster = layout.ClusterLayout(root.name, root)
    if take_lock(cluster) is None:
        return 0
    _log(f"supervisor {os.getpid()} serves {root}")
    Supervisor(cluster).run(wake)
    _log("supervisor exits: nothing to run")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
