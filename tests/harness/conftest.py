"""A trial's surroundings for the harness's tests, and the interpreters to run them with."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.free_ports import free_port
from tests.harness.master_double import MasterDouble

SOURCE = pathlib.Path(__file__).parents[2] / "src"


def _python39() -> str | None:
    candidates = [shutil.which("python3.9")]
    candidates += sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/3.9.*/bin/python3.9")))
    for candidate in candidates:
        if candidate is not None:
            probe = subprocess.run([candidate, "-c", "pass"], capture_output=True)
            if probe.returncode == 0:
                return candidate
    return None


@pytest.fixture(params=["this", "3.9"])
def python(request: pytest.FixtureRequest) -> str:
    """An interpreter: the one that runs the tests, and Python 3.9 where there is one."""
    if request.param == "this":
        return sys.executable
    found = _python39()
    if found is None:
        pytest.skip("no working python3.9 on PATH")
    return found


@pytest.fixture
def master() -> Iterator[MasterDouble]:
    with MasterDouble() as double:
        yield double


class Task:
    """A trial's environment and directories; runs programs in it without any site-packages."""

    def __init__(self, master_url: str, root: pathlib.Path) -> None:
        self.root = root
        self.run_dir = root / "run"
        self.work_dir = root / "run" / "workdir"
        self.storage = root / "storage"
        self.storage.mkdir()
        self.config: dict[str, Any] = {
            "name": "test",
            "entrypoint": "true",
            "checkpoint_storage": {"type": "shared_fs", "host_path": "/ignored"},
            "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 10}},
            "resources": {"slots_per_trial": 1},
            "data": {"secrets": {"key": "hush-hush"}},
        }
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "PYTHONPATH": str(SOURCE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "DET_MASTER": master_url,
            "DET_CLUSTER_ID": "cluster",
            "DET_AGENT_ID": "agent",
            "DET_CONTAINER_ID": "container",
            "DET_RESOURCES_ID": "container",
            "DET_RESOURCES_TYPE": "docker-container",
            "DET_SLOT_IDS": "[0]",
            "DET_TASK_ID": "1.abc",
            "DET_ALLOCATION_ID": "1.abc.1",
            "DET_SESSION_TOKEN": "token",
            "DET_TASK_TYPE": "TRIAL",
            "DET_RUN_DIR": str(self.run_dir),
            "DET_WORKDIR": str(self.work_dir),
            "DET_SHARED_FS_PATH": str(self.storage),
            "DET_TRIAL_ID": "3",
            "DET_EXPERIMENT_ID": "2",
            "DET_TRIAL_RUN_ID": "1",
            "DET_TRIAL_SEED": "17",
            "DET_STEPS_COMPLETED": "0",
            "DET_HPARAMS": '{"lr": 0.1}',
        }

    def start(self, command: list[str], **kwargs: Any) -> subprocess.Popen[str]:
        env = {**self.env, "DET_EXPERIMENT_CONFIG": json.dumps(self.config)}
        return subprocess.Popen(
            command,
            env={**env, **kwargs.pop("env", {})},
            cwd=str(kwargs.pop("cwd", self.root)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **kwargs,
        )

    def enter(self, python: str, *args: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run the entry chain to its end."""
        command = [python, "-S", "-m", "determined.exec.entry", *(args or ("trial",))]
        return _finish(self.start(command, **kwargs))

    def run_script(
        self, python: str, script: str, **kwargs: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a script as the entrypoint of this trial would run it, with the info files there."""
        path = self.root / "script.py"
        path.write_text(script)
        self.config["entrypoint"] = [python, "-S", str(path)]
        return self.enter(python, **kwargs)


def _finish(p: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    try:
        out, err = p.communicate(timeout=60)
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()
    return subprocess.CompletedProcess(p.args, p.returncode, out, err)


@pytest.fixture
def task(master: MasterDouble, tmp_path: pathlib.Path) -> Task:
    return Task(master.url, tmp_path)


@pytest.fixture
def unused_port() -> int:
    """A port nobody listens on now.

    It lies below those that the system hands out by itself: a client that keeps calling one of
    these may in the end be connected to itself.
    """
    return free_port()
