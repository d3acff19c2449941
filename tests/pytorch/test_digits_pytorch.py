"""The example of several ranks, for real: torch's launcher and gloo, on one agent and on two.

It needs a Python with torch, which `make test-torch` makes and names in TORCH_PYTHON.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.e2e.cluster import ROOT, Cluster
from tests.e2e.conftest import running

TORCH_PYTHON = os.environ.get("TORCH_PYTHON", "")
EXAMPLE = ROOT / "examples" / "digits_pytorch"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.skipif(not TORCH_PYTHON, reason="TORCH_PYTHON names no Python: make test-torch"),
]


def submit(cluster: Cluster, script: str | None = None, **more: object) -> int:
    config = YAML(typ="safe").load(EXAMPLE / "distributed.yaml")
    variables = [f"DET_PYTHON_EXECUTABLE={TORCH_PYTHON}", "EPOCHS=5"]
    config["environment"] = {"environment_variables": variables}
    config["reproducibility"] = {"experiment_seed": 1}  # what is learned does not vary
    text = (EXAMPLE / "train.py").read_text() if script is None else script
    return cluster.submit({**config, "max_restarts": 0, **more}, {"train.py": text})


def assert_learned(cluster: Cluster, experiment: int, agents: set[str]) -> None:
    assert cluster.wait(experiment, 240) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    lines = list(cluster.lines(trial["id"]))
    ranks = {(line["agentId"], line["rankId"]) for line in lines if "of 2 trains" in line["log"]}
    assert {agent for agent, _ in ranks} == agents
    assert {rank for _, rank in ranks} == {0, 1}
    [told] = [line["log"] for line in lines if "validation accuracy" in line["log"]]
    assert float(told.partition("accuracy ")[2].split()[0]) > 0.8
    assert trial["bestValidation"]["metrics"]["avgMetrics"]["validation_accuracy"] > 0.8


def test_one_rank_learns_without_a_cluster(tmp_path: Path) -> None:
    done = subprocess.run(
        [TORCH_PYTHON, "train.py"],
        cwd=EXAMPLE,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT / 'src'}",
            "XDG_DATA_HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stderr.rpartition("validation accuracy ")[2].split()[0]) > 0.9


def test_two_ranks_of_one_agent_learn(cluster: Cluster) -> None:
    assert_learned(cluster, submit(cluster), {"agent-0"})


def test_two_agents_learn_and_a_rank_that_dies_ends_the_other() -> None:
    with running(agents=2, slots=1) as cluster:
        assert_learned(cluster, submit(cluster), {"agent-0", "agent-1"})
        script = (EXAMPLE / "train.py").read_text()
        dies = script.replace("        epoch += 1\n", "        epoch += 1 // (1 - group.rank)\n")
        assert dies != script
        experiment = submit(cluster, dies)
        assert cluster.wait(experiment, 240) == "ERROR"
        [trial] = cluster.trials(experiment)
        text = cluster.text(trial["id"])
        assert "ZeroDivisionError" in text
        assert text.index("ZeroDivisionError") < text.index("non-zero exit code")
