"""Requests over keep-alive connections for some seconds, and what came of them."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cluster import HOST, Cluster
from bench.load import client

HERE = Path(__file__).parent
GRACE_S = 30.0


@dataclass(frozen=True)
class Answered:
    """What came of a load; requests still under way at its end are not counted."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float
    tool: str

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    def facts(self) -> dict[str, Any]:
        """For the figure's line."""
        return {
            "load_by": self.tool,
            "p50_ms": round(self.p50_ms, 2),
            "p99_ms": round(self.p99_ms, 2),
        }


def request_bytes(cluster: Cluster, method: str, path: str, body: bytes = b"") -> bytes:
    """One HTTP request of the logged-in user as it goes over the wire."""
    head = [f"{method} {path} HTTP/1.1", f"Host: {HOST}:{cluster.port}"]
    head += [f"{name}: {value}" for name, value in cluster.headers().items()]
    if body:
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


def send_each_once(
    cluster: Cluster, requests: Iterable[bytes], connections: int, seconds: float
) -> Answered:
    """Send requests in order, none of them twice; there must be enough for the time.

    Raises:
        RuntimeError: an answer was no success, or the requests ran out.
    """
    if shutil.which("wrk") is None:
        return _by_client(cluster, iter(requests), connections, seconds)
    with tempfile.NamedTemporaryFile(dir=cluster.directory, suffix=".requests") as file:
        for request in requests:
            file.write(b"%d\n" % len(request) + request)
        file.flush()
        return _by_wrk(cluster, ["-s", HERE / "replay.lua"], [file.name], connections, seconds)


def send_in_turn(
    cluster: Cluster, requests: Sequence[bytes], connections: int, seconds: float
) -> Answered:
    """Send requests in order, again and again.

    Raises:
        RuntimeError: an answer was no success.
    """
    if shutil.which("wrk") is None:
        return _by_client(cluster, itertools.cycle(requests), connections, seconds)
    with tempfile.NamedTemporaryFile(dir=cluster.directory, suffix=".requests") as file:
        file.write(b"".join(b"%d\n" % len(request) + request for request in requests))
        file.flush()
        arguments = [file.name, "again"]
        return _by_wrk(cluster, ["-s", HERE / "replay.lua"], arguments, connections, seconds)


def repeat(cluster: Cluster, path: str, connections: int, seconds: float) -> Answered:
    """GET one path again and again.

    Raises:
        RuntimeError: an answer was no success.
    """
    if shutil.which("wrk") is None:
        request = request_bytes(cluster, "GET", path)
        return _by_client(cluster, iter(lambda: request, None), connections, seconds)
    options: list[Any] = ["-s", HERE / "repeat.lua"]
    for name, value in cluster.headers().items():
        options += ["-H", f"{name}: {value}"]
    return _by_wrk(cluster, options, [], connections, seconds, path)


def _by_wrk(
    cluster: Cluster,
    options: list[Any],
    arguments: list[str],
    connections: int,
    seconds: float,
    path: str = "/",
) -> Answered:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s"]
    command += ["--timeout", "30s", *map(str, options), cluster.address + path, "--", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=seconds + GRACE_S, check=True
    )
    found = re.search(r"^SUMMARY (.*)$", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"wrk said nothing of use: {done.stdout[-500:]}{done.stderr[-500:]}")
    summary = json.loads(found[1])
    if summary["status_errors"] or summary["socket_errors"] or summary.get("is_exhausted"):
        raise RuntimeError(f"the load did not go well: {summary}")
    return Answered(
        requests=summary["requests"],
        seconds=summary["duration_us"] / 1e6,
        p50_ms=summary["p50_us"] / 1e3,
        p99_ms=summary["p99_us"] / 1e3,
        tool="wrk",
    )


def _by_client(
    cluster: Cluster, requests: client.Requests, connections: int, seconds: float
) -> Answered:
    times = client.run(HOST, cluster.port, requests, connections, seconds)
    return Answered(
        requests=len(times.latencies_s),
        seconds=times.seconds,
        p50_ms=times.percentile(50) * 1e3,
        p99_ms=times.percentile(99) * 1e3,
        tool="asyncio client (wrk is not installed)",
    )
