"""From a key in a terminal of the browser to its echo, through the master and the shell's sshd."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

from websockets.sync.client import ClientConnection, connect

from bench.cluster import HOST, Cluster, until
from bench.figure import CannotMeasure, Figure, Limit, Load, Measured

KEYS = "abcdefghijklmnopqrstuvwxyz"
EVERY_S = 0.02
"""Between two keys, as of somebody who types fast and holds a key down."""
ECHO_LIMIT_S = 30.0
PERCENT = 95
READY = b"now-echo"


def measure(cluster: Cluster, load: Load) -> Measured:
    """Type into a program that reads its input; the kernel of the task's machine echoes each key.

    Raises:
        CannotMeasure: there is no ssh server.
    """
    search = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    if not shutil.which("sshd", path=search):
        raise CannotMeasure("there is no sshd here: install openssh-server")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    body = {"config": {"resources": {"slots": 0}}}
    shell_id = cluster.call("POST", "/api/v1/shells", body)["shell"]["id"]
    try:
        until(lambda: _is_ready(cluster, shell_id), 60, "the shell's ssh server")
        began = time.perf_counter()
        with _terminal(cluster, shell_id) as terminal:
            _until_ready(terminal)
            opened_s = time.perf_counter() - began
            echoes = [_echo_s(terminal, KEYS[n % len(KEYS)]) for n in range(load.count)]
    finally:
        cluster.call("POST", f"/api/v1/shells/{shell_id}/kill")
    ordered = sorted(echoes)
    facts = {
        "p50_ms": round(1000 * ordered[len(ordered) // 2], 2),
        "max_ms": round(1000 * ordered[-1], 2),
        "opened_s": round(opened_s, 2),
    }
    return Measured([1000 * ordered[min(len(ordered) - 1, len(ordered) * PERCENT // 100)]], facts)


def _is_ready(cluster: Cluster, shell_id: str) -> bool:
    task = cluster.call("GET", f"/api/v1/tasks/{shell_id}")["task"]
    return any(each.get("isReady") for each in task["allocations"])


def _terminal(cluster: Cluster, shell_id: str) -> ClientConnection:
    return connect(
        f"ws://{HOST}:{cluster.port}/api/ui/v1/shells/{shell_id}/terminal",
        additional_headers={"Authorization": f"Bearer {cluster.token}"},
        compression=None,
        proxy=None,
    )


def _until_ready(terminal: ClientConnection) -> None:
    """Start a program that reads and prints nothing; its command is not echoed as it is."""
    terminal.send(json.dumps({"columns": 80, "rows": 24}))
    terminal.send(b"stty -icanon; echo now-'echo'; exec cat > /dev/null\n")
    output = b""
    while READY + b"\r\n" not in output:
        output += _received(terminal)


def _echo_s(terminal: ClientConnection, key: str) -> float:
    time.sleep(EVERY_S)
    since = time.perf_counter()
    terminal.send(key.encode())
    while key.encode() not in _received(terminal):
        pass
    return time.perf_counter() - since


def _received(terminal: ClientConnection) -> bytes:
    """The next output. Raises RuntimeError: the terminal has ended; TimeoutError."""
    message = terminal.recv(timeout=ECHO_LIMIT_S)
    if isinstance(message, str):
        raise RuntimeError(f"the terminal has ended: {message}")
    return message


FIGURE = Figure(
    name="terminal_echo",
    limits=[Limit("p95", "ms", 80.0, "at_most")],
    measure=measure,
    full=Load(runs=3, count=500),
    smoke=Load(runs=1, count=50),
)
