"""The users' side needs no more than Python 3.9: the command line, and all that runs in a task."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import tomllib
from functools import partial
from pathlib import Path

import pytest
from tests.e2e import scripts
from tests.e2e.cluster import ROOT, Cluster
from tests.e2e.command_line import det
from tests.e2e.test_life import config
from tests.environments import NotInstalled, environment

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

OLDEST = "3.9"
SAVES = """
import sys
from determined import core

with core.init() as context:
    print("on python", *sys.version_info[:2], flush=True)
    context.train.report_validation_metrics(1, {"loss": 0.5})
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "weights").write_text("heavy")
"""
LOADS = """
import importlib, pkgutil, sys
import determined

FRAMEWORKS = {
    *("torch", "tensorflow", "keras", "lightning", "transformers", "deepspeed", "numpy"),
    *("sklearn", "xgboost", "lightgbm"),
}
for found in pkgutil.walk_packages(determined.__path__, "determined."):
    if found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in FRAMEWORKS:
            raise
"""


def interpreter() -> Path | None:
    """One of that release on this machine, by its name on the PATH or from pyenv."""
    on_path = shutil.which(f"python{OLDEST}")
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [*([Path(on_path)] if on_path else []), *versions.glob(f"{OLDEST}.*/bin/python3")]
    return next((path for path in found if _runs(path)), None)


def _runs(python: Path) -> bool:
    """Whether it does; pyenv puts names on the PATH that only complain."""
    probe = [str(python), "-c", "import ensurepip, venv"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def python() -> Path:
    found = interpreter()
    if found is None:
        pytest.skip(f"there is no Python {OLDEST} here")
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    try:
        return environment("oldest", needed, ["-c", "import urllib3"], interpreter=found)
    except NotInstalled as reason:
        pytest.skip(f"the project's packages cannot be installed for Python {OLDEST}: {reason}")


def test_every_module_loads(python: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [python, "-c", LOADS], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_the_command_line_creates_follows_and_downloads(
    cluster: Cluster, python: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "t.py").write_text(SAVES)
    told = {"environment_variables": [f"DET_PYTHON_EXECUTABLE={python}"]}
    asked = config("python3 t.py", environment=told)
    (tmp_path / "config.json").write_text(json.dumps(asked))
    run = partial(det, cluster, python=python)
    said = run("experiment", "create", str(tmp_path / "config.json"), str(model), "-f")
    assert "on python 3 9" in said
    experiment = said.partition("Created experiment ")[2].split()[0]
    listed = run("experiment", "list-checkpoints", experiment, "--csv")
    [saved] = csv.DictReader(io.StringIO(listed))
    run("checkpoint", "download", saved["UUID"], "-o", str(tmp_path / "saved"))
    assert (tmp_path / "saved" / "weights").read_text() == "heavy"


def test_ranks_find_each_other(cluster: Cluster, python: Path) -> None:
    told = {"environment_variables": [f"DET_PYTHON_EXECUTABLE={python}"]}
    asked = config(
        "python3 -m determined.launch.simple python3 t.py",
        resources={"slots_per_trial": 2},
        environment=told,
    )
    experiment = cluster.submit(asked, {"t.py": scripts.RANKS})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert "[[0, 0], [1, 0]] 1" in cluster.text(trial["id"])
