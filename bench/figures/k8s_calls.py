"""Calls of the API server by a master whose pods only run, beside its watches.

Reads of logs are counted apart. That of a real pod stays open; a hollow kubelet ends each at once,
so the master asks again every 15 seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from tests.e2e.pods import KUBECONFIG

from bench.figure import CannotMeasure, Figure, Limit, Load, Measured
from bench.figures.k8s_1000 import PODS_A_NODE, hollow_scene
from bench.peers import PROGRAMS


def measure(load: Load) -> Measured:
    """Calls a minute, over `seconds` seconds, after as long a pause."""
    if not KUBECONFIG:
        raise CannotMeasure("DET_TEST_KUBECONFIG names no cluster")
    with _proxy() as (url, kubeconfig):
        nodes = load.count // PODS_A_NODE
        with hollow_scene(nodes, kubeconfig_path=str(kubeconfig)) as scene:
            experiment = scene.submit(load.count)
            scene.wait_for_start(load.count)
            time.sleep(load.seconds)
            before = _counted(url)
            time.sleep(load.seconds)
            after = _counted(url)
            scene.end(experiment)
    found = {kind: n - before.get(kind, 0) for kind, n in after.items()}
    log_reads = found.pop("GET pods/log", 0)
    calls = {kind: n for kind, n in found.items() if n}
    facts = {"pods": load.count, "nodes": nodes, "calls": calls, "log_reads": log_reads}
    return Measured([60 * sum(calls.values()) / load.seconds], facts)


def _counted(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/counted", timeout=60) as answer:
        return dict(json.load(answer))


@contextlib.contextmanager
def _proxy() -> Iterator[tuple[str, Path]]:
    """A proxy of the API server that counts, and the file by which it is reached."""
    config: dict[str, Any] = YAML(typ="safe").load(Path(KUBECONFIG))
    [cluster], [user] = config["clusters"], config["users"]
    words = [str(PROGRAMS / "counting_proxy.py"), cluster["cluster"]["server"]]
    environment = {**os.environ, "TOKEN": str(user["user"].get("token", ""))}
    with (
        tempfile.TemporaryDirectory() as directory,
        subprocess.Popen(
            [sys.executable, *words], env=environment, stdout=subprocess.PIPE, text=True
        ) as proxy,
    ):
        try:
            assert proxy.stdout is not None
            url = f"http://127.0.0.1:{proxy.stdout.readline().strip()}"
            cluster["cluster"] = {"server": url}
            path = Path(directory) / "kubeconfig"
            path.write_text(json.dumps(config))
            yield url, path
        finally:
            proxy.terminate()


FIGURE = Figure(
    name="k8s_calls",
    limits=[Limit("calls", "a minute", 10.0, "at_most", judged="count")],
    measure=None,
    measure_alone=measure,
    needs="nothing",
    full=Load(runs=1, count=1_000, seconds=120.0),
    smoke=Load(runs=1, count=100, seconds=60.0),
    in_smoke=False,
)
