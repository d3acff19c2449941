"""A cluster that `det deploy local` starts on a machine with NVIDIA's GPUs, as a user would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from determined.experimental import Determined

PASSWORD = "Gpu1machines"
TORCH_PYTHON = os.environ.get("TORCH_PYTHON") or sys.executable
QUERY = ["nvidia-smi", "--query-gpu=uuid,name", "--format=csv,noheader"]
LIMIT_S = 180.0


class Gpu(NamedTuple):
    """A GPU as NVIDIA's own tool names it."""

    uuid: str
    name: str


class GpuCluster:
    """A running cluster: its client, and its command line."""

    def __init__(self, directory: Path, gpus: list[Gpu]) -> None:
        self.directory = directory
        self.gpus = gpus
        self.address = ""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
        source = str(Path(__file__).parents[2] / "src")
        self._environment = {
            **kept,
            "HOME": str(directory),
            "DET_DEPLOY_DIR": str(directory),
            "PYTHONPATH": os.pathsep.join(filter(None, (source, kept.get("PYTHONPATH", "")))),
        }

    def det(self, *words: str) -> str:
        """What `det` prints; it must succeed."""
        done = subprocess.run(
            [sys.executable, "-m", "determined.cli", *words],
            env={**self._environment, **(self._account() if self.address else {})},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"det {' '.join(words)}: {done.stdout} {done.stderr}"
        return done.stdout

    def _account(self) -> dict[str, str]:
        return {"DET_MASTER": self.address, "DET_USER": "admin", "DET_PASS": PASSWORD}

    @cached_property
    def client(self) -> Determined:
        """The SDK, logged in."""
        return Determined(self.address, user="admin", password=PASSWORD)

    def train(self, model: Path, **config: Any) -> Any:
        """Run an experiment of one trial to its end; the experiment."""
        whole = {"name": "gpu", "max_restarts": 0, "resources": {"slots_per_trial": 1}, **config}
        experiment = self.client.create_experiment(whole, str(model))
        state = experiment.wait(interval=0.5)
        logs = "\n".join(experiment.list_trials()[0].iter_logs())
        assert state.name == "COMPLETED", logs[-4000:]
        return experiment


@pytest.fixture(scope="session")
def gpus() -> list[Gpu]:
    if shutil.which(QUERY[0]) is None:
        pytest.skip("nvidia-smi is not installed: there is no NVIDIA GPU to test with")
    listed = subprocess.run(QUERY, capture_output=True, text=True, timeout=60, check=True).stdout
    return [Gpu(*line.split(", ")) for line in listed.splitlines()]


@pytest.fixture(scope="session")
def cluster(gpus: list[Gpu]) -> Iterator[GpuCluster]:
    directory = Path(tempfile.mkdtemp(prefix="det-gpu-"))
    directory.chmod(0o711)
    made = GpuCluster(directory, gpus)
    try:
        made.det(
            *("deploy", "local", "cluster-up", "--cluster-name", "gpu"),
            *("--initial-user-password", PASSWORD, "--master-port", "18080"),
        )
        made.address = "http://127.0.0.1:18080"
        yield made
        made.client._session.close()
    finally:
        made.det("deploy", "local", "cluster-down", "--cluster-name", "gpu")
        shutil.rmtree(directory, ignore_errors=True)


def processes_on_gpus() -> str:
    """What computes on any GPU, as NVIDIA's tool says it."""
    query = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, timeout=60, check=True).stdout


def until(claim: Any, what: str, limit_s: float = 60.0) -> None:
    """Wait until the claim holds."""
    deadline = time.monotonic() + limit_s
    while not claim():
        assert time.monotonic() < deadline, f"{what}: not within {limit_s:g} s"
        time.sleep(0.2)


def decoded(text: str) -> Any:
    """JSON that a command printed."""
    return json.loads(text)
