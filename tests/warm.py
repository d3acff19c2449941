"""An interpreter that has its imports behind it, and forks for each command.

A command of the published client takes 0.4 s of a core until its first line of work; forked from
here it takes 0.05 s. Each is a process of its own, with its own environment, arguments, directory
and session, and ends as an interpreter ends.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

PART = 1 << 16

_SERVER = """
import array, gc, importlib, json, os, runpy, signal, socket, sys

link = socket.socket(fileno=int(sys.argv[1]))
importlib.import_module(sys.argv[2])
sys.modules.pop(sys.argv[2])
for name in sys.argv[3:]:
    importlib.import_module(name)
gc.freeze()  # a command's garbage collector would copy all pages of what it shares

def next_command():
    while True:
        text, ancillary, _, _ = link.recvmsg(1 << 20, socket.CMSG_SPACE(4 * 4))
        if not text:
            os._exit(0)
        fds = array.array("i")
        fds.frombytes(ancillary[0][2])
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for who reports
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            link.close()
            child = os.fork()
            if not child:
                return json.loads(text), fds
            report = fds[3]
            os.write(report, b"%d\\n" % child)
            for fd in fds[:3]:
                os.close(fd)
            os.write(report, b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            os._exit(0)
        for fd in fds:
            os.close(fd)

command, fds = next_command()
os.setsid()
for number, fd in enumerate(fds[:3]):
    os.dup2(fd, number)
for fd in fds:
    os.close(fd)
os.chdir(command["cwd"])
os.environ.clear()
os.environ.update(command["env"])
sys.path[0] = command["cwd"]
sys.argv = command["words"]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


class Warm:
    """One interpreter, for one process of tests; it ends with this process.

    Args:
        python: the interpreter.
        module: what it imports before the first command, with all that this imports. Each
            command imports the module itself again, for it may read arguments as it is imported.
        later: modules that commands import at work, which read no arguments.
    """

    def __init__(self, python: Path, module: str, later: Sequence[str] = ()) -> None:
        self._lock = Lock()
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DET_", "PYTHON"))}
        command = [str(python), "-c", _SERVER, str(theirs.fileno()), module, *later]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=kept, cwd="/")
        theirs.close()
        atexit.register(self.close)

    def run(
        self, words: Sequence[str], env: Mapping[str, str], cwd: Path, typed: str, limit_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run `python -m WORDS` to its end.

        Raises:
            subprocess.TimeoutExpired: it was killed after `limit_s`.
        """
        pipes = [os.pipe() for _ in range(4)]
        given = [pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1]]
        kept = [pipes[0][1], pipes[1][0], pipes[2][0], pipes[3][0]]
        request = json.dumps({"words": list(words), "env": dict(env), "cwd": str(cwd)})
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", given))]
        try:
            with self._lock:
                self._link.sendmsg([request.encode()], rights)
        finally:
            for fd in given:
                os.close(fd)
        with suppress(BrokenPipeError):  # it has ended, and read nothing
            os.write(kept[0], typed.encode())
        os.close(kept[0])
        try:
            out, err, report = _read_all(kept[1:], list(words), limit_s)
        finally:
            for fd in kept[1:]:
                os.close(fd)
        return subprocess.CompletedProcess(list(words), int(report.split()[-1]), out, err)

    def close(self) -> None:
        """End it; commands that still run go on."""
        self._link.close()
        self._process.wait()


def _read_all(fds: Sequence[int], words: list[str], limit_s: float) -> list[str]:
    """Output, error output and report, until all are closed."""
    until = time.monotonic() + limit_s
    parts: dict[int, bytearray] = {fd: bytearray() for fd in fds}
    with selectors.DefaultSelector() as selector:
        for fd in fds:
            selector.register(fd, selectors.EVENT_READ)
        while selector.get_map():
            left = until - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                _kill(fds[2], parts[fds[2]])
                raise subprocess.TimeoutExpired(words, limit_s, bytes(parts[fds[0]]))
            for key, _ in ready:
                part = os.read(key.fd, PART)
                parts[key.fd] += part
                if not part:
                    selector.unregister(key.fd)
    return [bytes(part).decode(errors="replace") for part in parts.values()]


def _kill(fd: int, report: bytearray) -> None:
    """The command and what it has started in its session.

    On a busy machine it may not have been forked yet: its id, or the end of the report, comes.
    """
    while b"\n" not in report and (part := os.read(fd, PART)):
        report += part
    if not report:
        return
    pid = int(report.split()[0])
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has ended, or has no session yet
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
