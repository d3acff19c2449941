"""Notices when one of several workers dies, which their launcher may not.

Workers connect and tell their pid; a connection that ends without the goodbye, or a pid that
is no more, is a failure of the whole.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import time
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from determined._signals import exit_code_of, forward_signals, signal_process_tree
from determined.errors import WorkerError, WorkerFinishedGracefully

Address = Union[str, int, Tuple[str, int]]

EXIT_TOO_EARLY = 77
"""The command ended well before its workers did."""
EXIT_WORKER_FAILED = 78
EXIT_HAD_TO_KILL = 79
STOP_WAIT_S = 10.0


def read_pid_server_addr(addr: str) -> Address:
    """Read an address: a path (with a slash), `host:port`, or a port.

    Raises:
        ValueError: it is none of these.
    """
    if "/" in addr:
        return addr
    host, colon, port = addr.rpartition(":")
    if not port.isdigit():
        raise ValueError(f"{addr!r} is neither a path with a slash, nor host:port, nor a port")
    return (host, int(port)) if colon else int(port)


class PIDServer:
    """Watches `num_clients` workers that connect to `addr`."""

    def __init__(self, addr: Address, num_clients: int) -> None:
        self.addr = addr
        self.num_clients = num_clients
        self.started = False
        self.sel: Optional[selectors.BaseSelector] = None
        self.listener: Optional[socket.socket] = None
        self.pids: List[int] = []
        self.graceful_shutdowns: List[int] = []
        self.conns: Dict[socket.socket, bytes] = {}
        self.done_accepting = False
        self._pid_of: Dict[socket.socket, int] = {}

    def start(self) -> PIDServer:
        """Listen."""
        self.listener = _bind(self.addr)
        self.listener.setblocking(False)
        self.sel = selectors.DefaultSelector()
        self.sel.register(self.listener, selectors.EVENT_READ, None)
        self.started = True
        return self

    def close(self) -> None:
        """Close all connections and remove the socket's file."""
        for conn in list(self.conns):
            self._forget(conn)
        self._stop_listening()
        if self.sel is not None:
            self.sel.close()
            self.sel = None

    def __enter__(self) -> PIDServer:
        return self if self.started else self.start()

    def __exit__(self, *_: Any) -> None:
        self.close()

    def handle_listener(self, mask: int) -> None:
        """Take in one worker."""
        assert self.listener is not None
        assert self.sel is not None
        conn, _ = self.listener.accept()
        conn.setblocking(False)
        self.conns[conn] = b""
        self.sel.register(conn, selectors.EVENT_READ, None)
        if len(self.conns) + len(self.graceful_shutdowns) >= self.num_clients:
            self.done_accepting = True
            self._stop_listening()

    def handle_conn(self, conn: socket.socket, mask: int, data: Optional[bytes] = None) -> None:
        """Read what a worker says.

        Raises:
            WorkerError: it broke off, or said something senseless.
        """
        if data is None:
            try:
                data = conn.recv(4096)
            except BlockingIOError:
                return
            except OSError:
                data = b""
        if not data:
            pid = self._pid_of.get(conn, "unknown")
            raise WorkerError(f"worker with pid {pid} broke off without saying goodbye")
        if conn not in self._pid_of:
            text, newline, rest = (self.conns[conn] + data).partition(b"\n")
            if not newline:
                self.conns[conn] = text
                return
            if not text.isdigit():
                raise WorkerError(f"a worker told {text!r} in place of its pid")
            self._pid_of[conn] = int(text)
            self.pids.append(int(text))
            data = rest
        if b"q" in data:
            self.graceful_shutdowns.append(self._pid_of[conn])
            self._forget(conn)
            if len(self.graceful_shutdowns) == self.num_clients:
                raise WorkerFinishedGracefully

    def check_pids(self) -> None:
        """Look whether every worker that has not said goodbye still lives.

        Raises:
            WorkerError: one does not.
        """
        for pid in self.pids:
            if pid not in self.graceful_shutdowns and not _is_alive(pid):
                raise WorkerError(f"worker with pid {pid} has died")

    def run(
        self, health_check: Optional[Callable[[], Any]] = None, poll_period: float = 1
    ) -> None:
        """Watch until all workers have said goodbye.

        Args:
            health_check: called every `poll_period` seconds; what it raises ends the watch.

        Raises:
            WorkerError: one died.
        """
        assert self.sel is not None
        checked_at = time.monotonic()
        with contextlib.suppress(WorkerFinishedGracefully):
            while True:
                for key, mask in self.sel.select(timeout=poll_period):
                    if key.fileobj is self.listener:
                        self.handle_listener(mask)
                    else:
                        self.handle_conn(key.fileobj, mask)  # type: ignore[arg-type]  # ours are sockets
                if time.monotonic() - checked_at >= poll_period:
                    checked_at = time.monotonic()
                    self.check_pids()
                    if health_check is not None:
                        health_check()

    def run_subprocess(
        self,
        cmd: List[str],
        on_fail: Optional[signal.Signals] = None,
        on_exit: Optional[signal.Signals] = None,
        grace_period: float = 3,
        signal_children: bool = False,
    ) -> int:
        """Run a launcher while watching its workers; return the exit code of the whole.

        Args:
            cmd: the launcher.
            on_fail: what to send it when a worker fails; None waits for its own end.
            on_exit: what to send it when all workers have said goodbye; None waits.
            grace_period: seconds before either.
            signal_children: send to its descendants too.

        Returns:
            Its own code; 77 when it ended well before its workers, 78 when a worker failed
            and it ended well, 79 when it had to be killed.
        """
        p = subprocess.Popen(cmd)
        with forward_signals(p):
            try:
                self.run(lambda: _ended_early(p))
            except _EndedEarly:
                return exit_code_of(p.returncode) or EXIT_TOO_EARLY
            except WorkerError as error:
                _say(f"{error}; ending the launcher")
                return _stop(p, on_fail, grace_period, signal_children) or EXIT_WORKER_FAILED
            return _stop(p, on_exit, grace_period, signal_children, is_failure=False)

    def _forget(self, conn: socket.socket) -> None:
        if self.sel is not None:
            self.sel.unregister(conn)
        self.conns.pop(conn, None)
        conn.close()

    def _stop_listening(self) -> None:
        if self.listener is None:
            return
        if self.sel is not None:
            self.sel.unregister(self.listener)
        self.listener.close()
        self.listener = None
        if isinstance(self.addr, str):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.addr)


class _EndedEarly(Exception):
    pass


def _ended_early(p: subprocess.Popen[Any]) -> None:
    if p.poll() is not None:
        raise _EndedEarly


def _stop(
    p: subprocess.Popen[Any],
    signum: Optional[signal.Signals],
    grace_s: float,
    signal_children: bool,
    is_failure: bool = True,
) -> int:
    if signum is None:
        return exit_code_of(p.wait())
    with contextlib.suppress(subprocess.TimeoutExpired):
        return exit_code_of(p.wait(grace_s))
    for step in (signum, signal.SIGKILL):
        if signal_children:
            signal_process_tree(p, step)
        else:
            p.send_signal(step)
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = exit_code_of(p.wait(STOP_WAIT_S))
            if not is_failure and code == 128 + step:
                return EXIT_HAD_TO_KILL if step == signal.SIGKILL else 0
            return code or (EXIT_HAD_TO_KILL if step == signal.SIGKILL else 0)
    return EXIT_HAD_TO_KILL


def _bind(addr: Address) -> socket.socket:
    if isinstance(addr, str):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(addr)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(addr)
        listener.listen()
        return listener
    return socket.create_server(("127.0.0.1", addr) if isinstance(addr, int) else addr)


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("X", "x", "Z", "T", "t")
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return False
    except OSError:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _say(text: str) -> None:
    os.write(2, f"ERROR: [{os.getpid()}] determined: {text}\n".encode())
