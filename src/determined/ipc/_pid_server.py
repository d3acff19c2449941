"""Detects when one of several workers dies, which their launcher may not.

Workers connect and send their PID. A connection that ends without a shutdown message, or a PID
that no longer exists, is a failure of the task.
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
"""The command exited with code 0 before its workers did."""
EXIT_WORKER_FAILED = 78
EXIT_HAD_TO_KILL = 79
STOP_WAIT_S = 10.0


def read_pid_server_addr(addr: str) -> Address:
    """Parse an address: a path (with a slash), `host:port`, or a port.

    Raises:
        ValueError: it is of another kind.
    """
    if "/" in addr:
        return addr
    host, colon, port = addr.rpartition(":")
    if not port.isdigit():
        raise ValueError(f"{addr!r} is neither a path with a slash, nor host:port, nor a port")
    return (host, int(port)) if colon else int(port)


class PIDServer:
    """Monitors `num_clients` workers that connect to `addr`."""

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
        """Start listening."""
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
        """Accept one worker."""
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
        """Read messages of a worker.

        Raises:
            WorkerError: the worker disconnected, or sent an invalid message.
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
            raise WorkerError(f"worker with pid {pid} disconnected unexpectedly")
        if conn not in self._pid_of:
            text, newline, rest = (self.conns[conn] + data).partition(b"\n")
            if not newline:
                self.conns[conn] = text
                return
            if not text.isdigit():
                raise WorkerError(f"a worker sent {text!r} instead of its pid")
            self._pid_of[conn] = int(text)
            self.pids.append(int(text))
            data = rest
        if b"q" in data:
            self.graceful_shutdowns.append(self._pid_of[conn])
            self._forget(conn)
            if len(self.graceful_shutdowns) == self.num_clients:
                raise WorkerFinishedGracefully

    def check_pids(self) -> None:
        """Check that every worker without a graceful shutdown is alive.

        Raises:
            WorkerError: a worker has died.
        """
        for pid in self.pids:
            if pid not in self.graceful_shutdowns and not _is_alive(pid):
                raise WorkerError(f"worker with pid {pid} has died")

    def run(
        self, health_check: Optional[Callable[[], Any]] = None, poll_period: float = 1
    ) -> None:
        """Monitor the workers until all have shut down gracefully.

        Args:
            health_check: called every `poll_period` seconds; its exceptions end the monitoring.

        Raises:
            WorkerError: a worker died.
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
        """Run a launcher and monitor its workers; return the exit code.

        Args:
            cmd: the launcher's command.
            on_fail: the signal to send if a worker fails; None waits for the launcher to exit.
            on_exit: the signal to send after all workers have shut down; None waits.
            grace_period: seconds to wait before a signal.
            signal_children: also signal the launcher's descendants.

        Returns:
            The launcher's code. 77: it exited with 0 before its workers. 78: it exited with 0
            after a worker failed. 79: it had to be killed.
        """
        p = subprocess.Popen(cmd)
        with forward_signals(p):
            try:
                self.run(lambda: _ended_early(p))
            except _EndedEarly:
                return exit_code_of(p.returncode) or EXIT_TOO_EARLY
            except WorkerError as error:
                _log_error(f"{error}; stopping the launcher")
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


def _log_error(text: str) -> None:
    os.write(2, f"ERROR: [{os.getpid()}] determined: {text}\n".encode())
