"""Metric points a second: our bulk route over an MLflow tracking server's `log_batch`.

Both over HTTP from the same client, with as many connections, and into the same PostgreSQL, one
after the other. MLflow takes at most 1,000 points a request; ours are those of `metric_batch`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg

from bench import peers
from bench.cluster import HOST, Cluster, free_port, until
from bench.figure import CannotMeasure, Figure, Limit, Load, Measured
from bench.figures import metric_batch
from bench.load.http_load import request_bytes, send_each_once
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

POINTS = 1000
MAX_PER_SECOND = 100
DATABASE = "mlflow"
START_LIMIT_S = 600.0


def measure(cluster: Cluster, load: Load) -> Measured:
    """The ratio of the two rates."""
    commands = peers.environment("mlflow", ["mlflow", "psycopg2-binary"])
    theirs = _mlflow(cluster, commands, load)
    if not theirs:
        raise CannotMeasure(f"MLflow answered no batch of {POINTS} within {load.seconds:g} s")
    ours = metric_batch.measure(cluster, load).values[0]
    facts = {"ours_points_per_s": round(ours), "mlflow_points_per_s": round(theirs)}
    return Measured([ours / theirs], facts)


def _mlflow(cluster: Cluster, commands: Path, load: Load) -> float:
    with _server(cluster, commands) as server:
        runs = [_new_run(server) for _ in range(metric_batch.CONNECTIONS)]
        count = round(load.seconds * MAX_PER_SECOND)
        requests = list(_batches(server, runs, count))
        # Several of its workers answer: each has to import and connect first.
        send_each_once(server, _batches(server, runs, 200), metric_batch.CONNECTIONS, 1.0)
        answered = send_each_once(server, requests, metric_batch.CONNECTIONS, load.seconds)
    return answered.rate * POINTS


def _batches(server: Cluster, runs: Sequence[str], count: int) -> Iterator[bytes]:
    draw = random.Random(1)
    first = next(server.steps) * 10_000_000
    for n in range(count):
        steps = range(first + n * POINTS // 5, first + (n + 1) * POINTS // 5)
        metrics = [
            {"key": f"metric_{i}", "value": draw.random(), "timestamp": 1767225600000, "step": s}
            for s in steps
            for i in range(5)
        ]
        body = {"run_id": runs[n % len(runs)], "metrics": metrics}
        path = "/api/2.0/mlflow/runs/log-batch"
        yield request_bytes(server, "POST", path, json.dumps(body).encode())


@contextlib.contextmanager
def _server(cluster: Cluster, commands: Path) -> Iterator[Cluster]:
    """An MLflow tracking server on a new database beside the cluster's own."""
    options = connection_options(Layout(cluster.files / "postgres"))
    asyncio.run(_recreate_database(options))
    user, password = quote(str(options["user"])), quote(str(options["password"]), safe="")
    where = f"host={quote(str(options['host']), safe='')}&port={options['port']}"
    uri = f"postgresql+psycopg2://{user}:{password}@/{DATABASE}?{where}"
    with tempfile.TemporaryDirectory(prefix="det-bench-mlflow-") as directory:
        server = Cluster(Path(directory), free_port())
        command = [str(commands / "mlflow"), "server", "--host", HOST, "--port", str(server.port)]
        command += ["--backend-store-uri", uri, "--default-artifact-root", directory]
        log = Path(directory) / "server.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=directory,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # its workers are ended with it
                env={**server.environment(), "MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONPATH": ""},
            )
            try:
                until(lambda: _is_up(server, process, log), START_LIMIT_S, "the MLflow server")
                yield server
            finally:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)


async def _recreate_database(options: dict[str, str | int]) -> None:
    conn = await asyncpg.connect(**options, timeout=10)
    try:
        await conn.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        await conn.execute(f"CREATE DATABASE {DATABASE}")
    finally:
        await conn.close()


def _is_up(server: Cluster, process: subprocess.Popen[bytes], log: Path) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"the MLflow server ended: {log.read_text()[-1000:]}")
    time.sleep(0.2)
    try:
        with urllib.request.urlopen(f"{server.address}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _new_run(server: Cluster) -> str:
    body = {"experiment_id": "0", "start_time": 1767225600000}
    answer: dict[str, Any] = server.call("POST", "/api/2.0/mlflow/runs/create", body)
    return str(answer["run"]["info"]["run_id"])


FIGURE = Figure(
    name="mlflow_ratio",
    limits=[Limit("ratio", "of MLflow's rate", 10.0, judged="ratio")],
    measure=measure,
    full=Load(runs=3, seconds=5.0),
    smoke=Load(runs=1, seconds=5.0),
    in_smoke=False,
)
