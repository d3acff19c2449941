"""How long pods of others hold the loop of a master that follows a large Kubernetes cluster."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop
from tests.backends.kubernetes.objects import options
from tests.backends.kubernetes.recorder import Recorder

from bench.figure import Figure, Limit, Load, Measured
from bench.peers import PROGRAMS
from determined_master.backends.kubernetes.backend import KubernetesBackend
from determined_master.server.garbage import tune_garbage_collector

PODS_PER_NODE = 30
CHANGES_A_SECOND = 100
BEAT_S = 0.001
JOIN_LIMIT_S = 120.0


def measure(load: Load) -> Measured:
    """Join `count` nodes with 30 pods each, then follow their changes for `seconds` seconds."""
    pods = load.count * PODS_PER_NODE
    tune_garbage_collector()
    with _server(load.count, pods) as kubeconfig:
        return uvloop.run(_follow(load, kubeconfig))


async def _follow(load: Load, kubeconfig: Path) -> Measured:
    gaps: list[float] = []
    beat = asyncio.create_task(_beat(gaps))
    backend = KubernetesBackend(options(kubeconfig_path=str(kubeconfig)), Recorder())
    backend.open({}, 1)
    try:
        async with asyncio.timeout(JOIN_LIMIT_S):
            while sum(a.is_connected for a in backend.agents()) < load.count:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        joining, gaps[:] = max(gaps), [0.0]
        spent = time.process_time()
        await asyncio.sleep(load.seconds)
        spent = time.process_time() - spent
        following = max(gaps)
    finally:
        beat.cancel()
        await backend.close()
    facts = {
        "joining_ms": round(1000 * joining, 1),
        "following_ms": round(1000 * following, 1),
        "core_percent": round(100 * spent / load.seconds, 1),
        "nodes": load.count,
        "changes_per_s": CHANGES_A_SECOND,
    }
    return Measured([1000 * max(joining, following)], facts)


async def _beat(gaps: list[float]) -> None:
    """Note by how much each beat is late."""
    while True:
        since = time.perf_counter()
        await asyncio.sleep(BEAT_S)
        gaps.append(time.perf_counter() - since - BEAT_S)


@contextmanager
def _server(nodes: int, pods: int) -> Iterator[Path]:
    """A file by which the API server of such a cluster is reached."""
    words = [str(PROGRAMS / "many_pods.py"), str(nodes), str(pods), str(CHANGES_A_SECOND)]
    with (
        tempfile.TemporaryDirectory() as directory,
        subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            path = Path(directory) / "kubeconfig"
            config = {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "many", "cluster": {"server": url}}],
                "users": [{"name": "admin", "user": {"token": "many"}}],
                "contexts": [{"name": "many", "context": {"cluster": "many", "user": "admin"}}],
                "current-context": "many",
            }
            path.write_text(json.dumps(config))
            yield path
        finally:
            server.terminate()


FIGURE = Figure(
    name="k8s_foreign",
    limits=[Limit("stall", "ms", 50.0, "at_most")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=3, seconds=20.0, count=300),
    smoke=Load(runs=1, seconds=3.0, count=30),
    in_smoke=False,
)
