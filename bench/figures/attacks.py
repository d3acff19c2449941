"""How long others wait while somebody attacks the master."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from bench import experiments, rows
from bench.cluster import HOST, PASSWORD, ROOT, Cluster, client_hash
from bench.figure import Figure, Limit, Load, Measured
from bench.load import client
from bench.load.http_load import request_bytes

CONNECTIONS = 4
SETTLE_S = 2.0
"""Until an attack has all of its connections."""
LINE_BYTES = 1000
LOGINS_A_SECOND = 2.0
SUBMISSIONS_A_SECOND = 2.0
MIB = 1024 * 1024


def measure_head(cluster: Cluster, load: Load) -> Measured:
    """Half-open connections, heads of 150 MiB and bodies of 90 MiB: p99 of others, memory."""
    master = psutil.Process(cluster.pids()["master"])
    before = master.memory_info().rss
    Path(f"/proc/{master.pid}/clear_refs").write_text("5")  # the peak counts from here
    with _attack(cluster, "heads"):
        times = _me(cluster, load.seconds)
    peak = _peak_bytes(master.pid)
    p99_ms = times.percentile(99) * 1000
    return Measured([p99_ms, max(0, peak - before) / MIB], _facts(times))


def measure_regex(cluster: Cluster, load: Load) -> Measured:
    """Fifty searches that take long, in `count` lines of 1 KB: p99 of others."""
    task_id = _task_with_lines(cluster, load.count)
    with _attack(cluster, "searches", task_id):
        times = _me(cluster, load.seconds)
    stored = rows.count_lines(cluster, task_id)
    return Measured([times.percentile(99) * 1000], {**_facts(times), "lines": stored})


def measure_login(cluster: Cluster, load: Load) -> Measured:
    """A thousand guesses a second from ten addresses: p95 of a right login from another."""
    body = {"username": "admin", "password": client_hash(PASSWORD), "isHashed": True}
    cluster.call("POST", "/api/v1/auth/login", body)
    taken = []
    with _attack(cluster, "guesses"):
        until = time.perf_counter() + load.seconds
        while time.perf_counter() < until:
            began = time.perf_counter()
            cluster.call("POST", "/api/v1/auth/login", body)
            taken.append(time.perf_counter() - began)
            time.sleep(1 / LOGINS_A_SECOND)
    p95 = sorted(taken)[len(taken) * 95 // 100]
    return Measured([p95], {"logins": len(taken), "slowest_s": round(max(taken), 3)})


def measure_neighbour(cluster: Cluster, load: Load) -> Measured:
    """Requests of one user at all bounds: p99 of others' GET /me, their slowest submission."""
    token, task_id, trial_id = _neighbour(cluster)
    request = experiments.submission("return_at_once.py")
    taken: list[float] = []
    with _attack(cluster, "neighbour", task_id, trial_id, token=token):
        ended = threading.Event()

        def submit() -> None:
            while not ended.wait(1 / SUBMISSIONS_A_SECOND):
                began = time.perf_counter()
                experiments.send(cluster, {**request, "activate": False})
                taken.append(time.perf_counter() - began)

        with ThreadPoolExecutor(1) as thread:
            submitting = thread.submit(submit)
            times = _me(cluster, load.seconds)
            ended.set()
            submitting.result()
    facts = {**_facts(times), "submissions": len(taken)}
    return Measured([times.percentile(99) * 1000, max(taken)], facts)


def _neighbour(cluster: Cluster) -> tuple[str, str, str]:
    """The token of another user, and a task and a trial of the own."""
    known: tuple[str, str, str] | None = cluster.prepared.get("neighbour")
    if known is None:
        user = {"username": "neighbour", "active": True}
        cluster.call("POST", "/api/v1/users", {"user": user, "password": PASSWORD})
        body = {"username": "neighbour", "password": client_hash(PASSWORD), "isHashed": True}
        own, token = cluster.token, cluster.call("POST", "/api/v1/auth/login", body)["token"]
        cluster.token = token
        paused = experiments.submit(cluster, "return_at_once.py", activate=False)
        cluster.token = own
        trial_id = experiments.trial_ids(cluster, paused)[0]
        known = token, experiments.task_id(cluster, trial_id), str(trial_id)
        cluster.prepared["neighbour"] = known
    return known


@contextlib.contextmanager
def _attack(cluster: Cluster, kind: str, *things: str, token: str = "") -> Iterator[None]:
    """An attack for the time of the block."""
    command = [sys.executable, "-m", "bench.load.attack", kind, str(cluster.port)]
    command += [token or cluster.token, *things]
    with subprocess.Popen(command, cwd=ROOT) as attacker:
        try:
            time.sleep(SETTLE_S)
            yield
            if attacker.poll() is not None:
                raise RuntimeError(f"the attack {kind} ended with {attacker.returncode}")
        finally:
            attacker.kill()


def _me(cluster: Cluster, seconds: float) -> client.Times:
    request = request_bytes(cluster, "GET", "/api/v1/me")
    return client.run(HOST, cluster.port, itertools.repeat(request), CONNECTIONS, seconds)


def _peak_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel reports no peak of memory")


def _facts(times: client.Times) -> dict[str, float]:
    return {"p50_ms": round(times.percentile(50) * 1000, 2), "answers": len(times.latencies_s)}


def _task_with_lines(cluster: Cluster, count: int) -> str:
    """A task whose log has so many lines; filled once for all runs."""
    known = cluster.prepared.get("searched")
    if known is None:
        trial_id = experiments.reporting_trials(cluster, 1)[0]
        known = cluster.prepared["searched"] = experiments.task_id(cluster, trial_id)
        query = """
            WITH stored AS (
                INSERT INTO task_logs (task_id, logged_at, level, log)
                SELECT $1, now(), 3, repeat('a', $3 - 1) || chr(10) FROM generate_series(1, $2)
                RETURNING 1)
            SELECT count(*) FROM stored
        """
        rows.fetch_value(cluster, query, known, count, LINE_BYTES)
    return str(known)


HEAD = Figure(
    name="attack_head",
    limits=[
        Limit("p99", "ms", 20.0, "at_most"),
        Limit("memory", "MiB", 64.0, "at_most", judged="count"),
    ],
    measure=measure_head,
    needs="own",
    full=Load(runs=3, seconds=10.0),
    smoke=Load(runs=1, seconds=2.0),
)
REGEX = Figure(
    name="attack_regex",
    limits=[Limit("p99", "ms", 50.0, "at_most")],
    measure=measure_regex,
    needs="own",
    full=Load(runs=3, seconds=10.0, count=1_000_000),
    smoke=Load(runs=1, seconds=2.0, count=20_000),
)
NEIGHBOUR = Figure(
    name="attack_neighbour",
    limits=[Limit("p99", "ms", 100.0, "at_most"), Limit("submission", "s", 2.0, "at_most")],
    measure=measure_neighbour,
    needs="own",
    full=Load(runs=3, seconds=30.0),
    smoke=Load(runs=1, seconds=4.0),
)
LOGIN = Figure(
    name="attack_login",
    limits=[Limit("p95", "s", 1.0, "at_most")],
    measure=measure_login,
    needs="own",
    full=Load(runs=3, seconds=15.0),
    smoke=Load(runs=1, seconds=5.0),
)
