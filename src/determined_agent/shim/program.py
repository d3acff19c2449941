"""The parent process of one task: it owns the task's session and outlives the agent.

Standard library only, started as `python -I -S` within about 20 ms. It reads its order from file
descriptor 0 (see `child.ShimOrder`), reports on descriptor 1 whether the task's program was
started, holds the lock on descriptor 3 while it runs, and stores the rest in the task's directory:

* `pid`: its process id and start time, by which an agent finds it again;
* `output/`: the task's output (see `spool`);
* `status`: how the task ended, written atomically.

It forwards signals to the task's process group, or only to its first process if that forwards
them itself (a second signal would kill a program that is shutting down). SIGRTMIN kills all of its
descendants. When the task's program has ended, its remaining descendants are killed: the shim is
their subreaper, so none escapes by becoming a daemon. A task of another account has process ids
and temporary directories of its own (see `isolation`).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import sys
import time

from determined_agent.shim.child import (
    SET_CHILD_SUBREAPER,
    ShimOrder,
    exec_task,
    prctl,
    write_file,
)
from determined_agent.shim.isolation import new_process_ids
from determined_agent.shim.process_tree import kill_below, send, start_time
from determined_agent.shim.spool import READ_BYTES, STDERR, STDOUT, SpoolWriter

LOCK_FD = 3
FORWARDED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTERM,
    signal.SIGWINCH,
)
KILL_ALL = signal.SIGRTMIN

_STATUS_BYTES = 1024
_COALESCE_S = 0.002
_DRAIN_S = 1.0
_KILL_S = 30.0
_SMALL_READ = 4096


class TaskStartError(Exception):
    """The task's program could not be started; the text gives the reason."""


def main(directory: str) -> int:
    """Run one task. Returns the shim's own exit code, which is not used."""
    os.set_inheritable(LOCK_FD, False)
    libc = ctypes.CDLL(None, use_errno=True)
    prctl(libc, SET_CHILD_SUBREAPER, 1)
    try:
        status_fd = _reserve_status(directory)
        _write_pid(directory)
        with os.fdopen(0, "rb", closefd=False) as file:
            order = ShimOrder(file.read())
        spool = SpoolWriter(os.path.join(directory, "output"), order.spool_bytes)
    except OSError as error:
        _report_start(f"error cannot write in {directory}: {error.strerror}")
        return 1
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    task = _Task(spool, _catch_signals())
    try:
        task.start(order, libc)
    except TaskStartError as error:
        text = str(error).replace("\n", " ")
        _write_status(directory, status_fd, f"state=failed\nerror={text}\n")
        _report_start(f"error {text}")
        return 1
    _report_start("ok")
    os.dup2(null, 1)
    code = task.run()
    ended_us = time.time_ns() // 1000
    text = f"state=exited\ncode={code}\nended_us={ended_us}\ndropped={spool.dropped}\n"
    _write_status(directory, status_fd, text)
    return 0


class _Task:
    """The task's program, its pipes and its descendants."""

    def __init__(self, spool: SpoolWriter, wake: int) -> None:
        self._spool = spool
        self._wake = wake
        self._pid = 0
        self._is_relay = False
        self._status: int | None = None
        self._streams: dict[int, int] = {}
        self._groups: list[str] = []

    def start(self, order: ShimOrder, libc: ctypes.CDLL) -> None:
        self._groups = order.groups
        out_r, out_w = os.pipe()
        err_r, err_w = os.pipe()
        fail_r, fail_w = os.pipe()
        shim_pid = os.getpid()
        self._is_relay = order.is_relay or bool(order.private)
        if order.private:
            self._isolate(libc)
        self._pid = os.fork()
        if self._pid == 0:
            exec_task(order, libc, shim_pid, (out_w, err_w, fail_w), FORWARDED)
        for fd in (out_w, err_w, fail_w):
            os.close(fd)
        with contextlib.suppress(
            OSError
        ):  # the child has done so itself, and runs its program already
            os.setpgid(self._pid, self._pid)
        with os.fdopen(fail_r, "rb") as file:
            failure = file.read()
        if failure:
            os.waitpid(self._pid, 0)
            raise TaskStartError(failure.decode("utf-8", "replace"))
        self._streams = {out_r: STDOUT, err_r: STDERR}

    @staticmethod
    def _isolate(libc: ctypes.CDLL) -> None:
        try:
            new_process_ids(libc)
        except OSError as error:
            raise TaskStartError(f"cannot isolate the task: {error.strerror}") from error

    def run(self) -> int:
        """Copy output and forward signals until the end; return the task's exit code."""
        poll = select.poll()
        for fd in (self._wake, *self._streams):
            poll.register(fd, select.POLLIN)
        while self._status is None:
            is_small = True
            for fd, _ in poll.poll():
                if fd == self._wake:
                    self._handle_signals()
                elif self._copy(fd, poll) > _SMALL_READ:
                    is_small = False
            if is_small and self._status is None:
                time.sleep(_COALESCE_S)  # many small writes become one record
        self._kill_leftovers()
        self._drain(poll)
        code = os.waitstatus_to_exitcode(self._status)
        return code if code >= 0 else 128 - code

    def _handle_signals(self) -> None:
        for number in os.read(self._wake, 512):
            if number == signal.SIGCHLD:
                self._reap()
            elif number == KILL_ALL:
                self._kill_all()
            elif self._status is None:
                send(self._pid if self._is_relay else -self._pid, number)

    def _copy(self, fd: int, poll: select.poll) -> int:
        data = os.read(fd, READ_BYTES)
        if data:
            self._spool.write(self._streams[fd], time.time_ns() // 1000, data)
        else:
            poll.unregister(fd)
            del self._streams[fd]
            os.close(fd)
        return len(data)

    def _reap(self) -> bool:
        """Reap ended children. Returns whether any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._pid:
                self._status = status

    def _kill_all(self) -> None:
        for group in self._groups:  # no more forks: a fork bomb would outrun the kills
            with contextlib.suppress(OSError):  # it limits something else
                write_file(os.path.join(group, "pids.max"), b"0\n")
        kill_below(os.getpid())

    def _kill_leftovers(self) -> None:
        """Kill all descendants; orphans become our children, so each round reaches deeper."""
        give_up_at = time.monotonic() + _KILL_S
        pause_s = 0.001
        while self._reap() and time.monotonic() < give_up_at:
            self._kill_all()
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.05)

    def _drain(self, poll: select.poll) -> None:
        """Read what the pipes hold, and for a moment the output of processes that still run.

        The time limit does not apply to data that is in the pipes already: a busy disk may take
        longer to write it.
        """
        poll.unregister(self._wake)
        held = sum(fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) for fd in self._streams)
        give_up_at = time.monotonic() + _DRAIN_S
        while self._streams:
            left_s = max(0.0, give_up_at - time.monotonic())
            ready = poll.poll(left_s * 1000) if left_s or held > 0 else ()
            if not ready:
                return
            for fd, _ in ready:
                held -= self._copy(fd, poll)


def _catch_signals() -> int:
    """Write received signals into a pipe; return its reading end."""
    wake_r, wake_w = os.pipe()
    os.set_blocking(wake_w, False)
    for number in (*FORWARDED, KILL_ALL, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
    return wake_r


def _report_start(line: str) -> None:
    with contextlib.suppress(OSError):  # the agent has ended; the next one reads the directory
        os.write(1, f"{line}\n".encode())


def _write_pid(directory: str) -> None:
    path = os.path.join(directory, "pid")
    with open(f"{path}.tmp", "w") as file:
        file.write(f"{os.getpid()} {start_time(os.getpid())}\n")
    os.rename(f"{path}.tmp", path)


def _reserve_status(directory: str) -> int:
    """Reserve disk space for the status now: at the end the disk may be full."""
    fd = os.open(os.path.join(directory, "status.tmp"), os.O_RDWR | os.O_CREAT, 0o600)
    os.write(fd, b" " * _STATUS_BYTES)
    return fd


def _write_status(directory: str, fd: int, text: str) -> None:
    os.pwrite(fd, text.encode()[: _STATUS_BYTES - 1].ljust(_STATUS_BYTES - 1) + b"\n", 0)
    os.fsync(fd)
    os.rename(os.path.join(directory, "status.tmp"), os.path.join(directory, "status"))
    parent = os.open(directory, os.O_RDONLY)
    os.fsync(parent)
    os.close(parent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
