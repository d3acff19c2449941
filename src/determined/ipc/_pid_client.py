"""The client of the PID server, for workers."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from typing import Any, List, Optional

from determined._signals import exit_code_of, forward_signals
from determined.ipc._pid_server import Address

KEEP_ALIVE_S = 60.0


class PIDClient:
    """Registers this process with the `PIDServer` at `addr`."""

    def __init__(self, addr: Address) -> None:
        self.addr = addr
        self.sock: Optional[socket.socket] = None

    def start(self) -> PIDClient:
        """Connect and send the PID."""
        if isinstance(self.addr, str):
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.connect(self.addr)
        else:
            at = ("127.0.0.1", self.addr) if isinstance(self.addr, int) else self.addr
            self.sock = socket.create_connection(at)
        self.sock.sendall(b"%d\n" % os.getpid())
        return self

    def close(self, graceful: bool) -> None:
        """Disconnect; without `graceful` the server treats it as a failure."""
        if self.sock is None:
            return
        with contextlib.suppress(OSError):
            if graceful:
                self.sock.sendall(b"q")
        self.sock.close()
        self.sock = None

    def __enter__(self) -> PIDClient:
        return self.start()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        is_clean = exc_type is None or (exc_type is SystemExit and not exc_val.code)
        self.close(graceful=is_clean)

    def keep_alive(self) -> None:
        """Send one keep-alive message."""
        if self.sock is not None:
            self.sock.sendall(b"k")

    def run_subprocess(self, cmd: List[str]) -> int:
        """Run a worker and return its exit code; disconnect gracefully only if that is 0."""
        stop = threading.Event()

        def send_keep_alives() -> None:
            while not stop.wait(KEEP_ALIVE_S):
                with contextlib.suppress(OSError):
                    self.keep_alive()

        signs = threading.Thread(target=send_keep_alives, name="pid-client", daemon=True)
        signs.start()
        try:
            p = subprocess.Popen(cmd)
            with forward_signals(p):
                code = exit_code_of(p.wait())
        finally:
            stop.set()
            signs.join()
        self.close(graceful=code == 0)
        return code
