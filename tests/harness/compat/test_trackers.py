"""Loops written for W&B and MLflow, with one import changed, as real processes."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import sysconfig
from typing import Any

import pytest
from tests.harness.conftest import SOURCE, Task
from tests.harness.core.test_detached import TRIAL
from tests.harness.master_double import MasterDouble

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

WANDB = """
from determined.compat import wandb

wandb.init(project="digits", config={"lr": 0.5, "layers": 3}, tags=["base"])
print(wandb.config.lr, wandb.config["layers"])
for epoch in range(2):
    wandb.log({"loss": 1.0 / (epoch + 1), "net": {"norm": epoch}}, commit=False)
    wandb.log({"val_loss": 0.5, "note": "text", "picture": wandb.Image("x.png")})
wandb.log({"loss": 0.25}, step=7)
wandb.log({"loss": 9.0}, step=3)
open("weights", "w").write("12345")
artifact = wandb.Artifact("net", type="model", metadata={"size": 5})
artifact.add_file("weights", name="final/weights")
wandb.run.log_artifact(artifact, aliases=["best"])
wandb.finish()
"""
MLFLOW = """
from determined.compat import mlflow

mlflow.set_experiment("digits")
with mlflow.start_run(run_name="one", tags={"team": "vision"}) as run:
    mlflow.log_params({"lr": 0.5, "layers": 3})
    for epoch in range(2):
        mlflow.log_metric("train_loss", 1.0 / (epoch + 1), step=epoch)
        mlflow.log_metric("val_loss", 0.5, step=epoch)
        mlflow.log_metric("counted", epoch)
    open("weights", "w").write("12345")
    mlflow.log_artifact("weights", "final")
    print(run.info.run_id)
"""


@pytest.fixture
def master(master: MasterDouble) -> MasterDouble:
    master.on("GET", r"/runs/\d+/metadata$", (200, {"metadata": {"by": "hand"}}))
    master.on("POST", r"/runs/\d+/metadata$", lambda call: (200, {"metadata": call.body}))
    return master


def points(master: MasterDouble) -> list[tuple[str, int, dict[str, Any]]]:
    """Group, step and values of each report."""
    return [
        (r["group"], r["metrics"]["stepsCompleted"], r["metrics"]["metrics"]["avgMetrics"])
        for r in master.reports()
    ]


def metadata(master: MasterDouble) -> dict[str, Any]:
    """The last metadata of the trial."""
    last: dict[str, Any] = master.named("POST", "/runs/3/metadata")[-1].body["metadata"]
    return last


def test_a_loop_of_wandb_reports_to_its_trial(
    task: Task, master: MasterDouble, python: str
) -> None:
    done = task.run_script(python, WANDB)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "0.1 3", "the trial's hyperparameter has precedence"
    assert points(master) == [
        ("training", 0, {"net.norm": 0}),
        ("validation", 0, {"loss": 1.0, "val_loss": 0.5}),  # `loss` is the searcher's metric
        ("training", 1, {"net.norm": 1}),
        ("validation", 1, {"loss": 0.5, "val_loss": 0.5}),
        ("validation", 7, {"loss": 0.25}),
    ]
    assert done.stderr.count("note is of type str: only numbers are reported") == 1
    assert done.stderr.count("picture is of type Media") == 1
    assert "step 3 is before the current step 7: dropped" in done.stderr
    [checkpoint] = master.named("POST", "/api/v1/checkpoints")
    about = {"artifact": "net", "type": "model", "aliases": ["best"], "size": 5}
    assert checkpoint.body["metadata"] == {"steps_completed": 7, **about}
    assert checkpoint.body["resources"]["final/weights"] == "5"
    kept = metadata(master)
    assert kept["by"] == "hand", "other metadata stays"
    assert kept["config"] == {"lr": 0.1, "layers": 3}
    assert kept["summary"]["val_loss"] == 0.5
    assert kept["tags"] == ["base"]


def test_a_loop_of_mlflow_reports_to_its_trial(
    task: Task, master: MasterDouble, python: str
) -> None:
    done = task.run_script(python, MLFLOW)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["3"]
    assert points(master) == [
        point
        for epoch in range(2)
        for point in (
            ("training", epoch, {"train_loss": 1.0 / (epoch + 1)}),
            ("validation", epoch, {"val_loss": 0.5}),
            ("training", epoch, {"counted": epoch}),
        )
    ]
    [checkpoint] = master.named("POST", "/api/v1/checkpoints")
    assert checkpoint.body["resources"]["final/weights"] == "5"
    kept = metadata(master)
    assert kept["params"] == {"lr": 0.5, "layers": 3}
    assert (kept["tags"], kept["status"]) == ({"team": "vision"}, "FINISHED")


class Program:
    """Runs scripts off the cluster."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root

    def run(self, text: str, **env: str) -> subprocess.CompletedProcess[str]:
        whole = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "PYTHONPATH": str(SOURCE),
            "DET_RUN_DIR": str(self.root / "no-task"),
            **env,
        }
        return subprocess.run(
            [sys.executable, "-c", text],
            env=whole,
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture
def program(tmp_path: pathlib.Path) -> Program:
    return Program(tmp_path)


@pytest.mark.parametrize("script", [WANDB, MLFLOW], ids=["wandb", "mlflow"])
def test_without_a_login_reports_are_printed(program: Program, script: str) -> None:
    done = program.run(script)
    assert done.returncode == 0, done.stderr
    assert "nobody is logged in, so reports are logged only; 'det user login'" in done.stderr
    assert "validation metrics at step 0: {'val_loss': 0.5}" in done.stderr
    assert "Traceback" not in done.stderr


def test_with_a_login_a_run_is_a_detached_experiment(
    program: Program, master: MasterDouble
) -> None:
    created = {"experiment": {"id": 2}, "config": {"reproducibility": {"experiment_seed": 5}}}
    master.on("GET", "/api/v1/master$", (200, {"clusterId": "cluster"}))
    master.on("POST", "/api/v1/experiments$", (200, created))
    master.on("POST", "/api/v1/trials$", (200, TRIAL))
    master.on("POST", "/trials/3/start$", (200, {"trialRunId": 1, "stepsCompleted": 0}))
    master.on("PATCH", "/trials/3$", (200, TRIAL))
    master.on("POST", "/api/v1/task/logs$", (200, {}))
    done = program.run(WANDB, DET_MASTER=master.url, DET_USER="ann", DET_USER_TOKEN="hers")
    assert done.returncode == 0, done.stderr
    [made] = master.named("POST", "/api/v1/experiments")
    assert '"name": "digits"' in made.body["config"]
    assert ("training", 7, {"loss": 0.25}) in points(master)
    assert master.named("PATCH", "/trials/3")[-1].body["state"] == "STATE_COMPLETED"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wandb.log({'a': 1})", "RuntimeError: no run is open: call wandb.init() first"),
        ("wandb.agent('x')", "determined.compat.wandb has no 'agent'. It has init, log"),
        (
            "wandb.init(mode='offline', config={'lr': 1}).config.rate",
            "AttributeError: the config has no 'rate'; it has: lr",
        ),
        (
            "wandb.init(mode='offline').save('missing.txt')",
            "FileNotFoundError: missing.txt does not exist, so it cannot be stored",
        ),
        (
            "a = wandb.Artifact('n', 't'); a.add_file(__import__('sys').executable, '../x'); "
            "wandb.init(mode='offline').log_artifact(a)",
            "ValueError: ../x leads out of the checkpoint: give a relative path in it",
        ),
        ("mlflow.evaluate", "determined.compat.mlflow has no 'evaluate'. It has start_run"),
        (
            "mlflow.start_run(); mlflow.start_run(nested=True)",
            "is open already: nested runs are not supported",
        ),
    ],
)
def test_a_wrong_call_says_what_is_right(program: Program, text: str, said: str) -> None:
    done = program.run(f"from determined.compat import mlflow, wandb\n{text}")
    assert done.returncode == 1
    assert said in done.stderr


def test_disabled_runs_and_other_ranks_keep_nothing(program: Program) -> None:
    loop = "from determined.compat import wandb\nwandb.init({})\nwandb.log({{'a': 1}})"
    for text, env in ((loop.format("mode='disabled'"), {}), (loop.format(""), {"RANK": "1"})):
        done = program.run(text, **env)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


WITH_PACKAGES = f"import sys; sys.path.append({sysconfig.get_path('purelib')!r})\n"
AUTOLOG = """
import determined as det

det.autolog()
from sklearn.linear_model import LogisticRegression

model = LogisticRegression(C=0.5).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
model.score([[0.5], [2.5]], [0, 1])
"""
AUTOLOG_OF_MLFLOW = """
from determined.compat import mlflow
from sklearn.linear_model import LogisticRegression

mlflow.autolog()
with mlflow.start_run(run_name="one"):
    mlflow.log_param("by", "hand")
    LogisticRegression(C=0.5).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    mlflow.log_metric("rows", 4, step=1)
mlflow.autolog(disable=True)
LogisticRegression(C=0.25).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
"""


def test_autolog_reports_to_its_trial(task: Task, master: MasterDouble) -> None:
    done = task.run_script(sys.executable, WITH_PACKAGES + AUTOLOG)
    assert done.returncode == 0, done.stderr
    [(group, step, training), validation] = points(master)
    assert (group, step, training["training_score"]) == ("training", 1, 1.0)
    assert validation == ("validation", 1, {"val_score": 1.0})
    assert metadata(master)["by"] == "hand", "other metadata stays"
    assert metadata(master)["autolog"]["LogisticRegression"]["C"] == 0.5


FLAVORS = """
from determined._autolog import recorded_frameworks
from determined.compat import mlflow

mlflow.sklearn.autolog(log_models=False)
mlflow.pytorch.autolog()
print(sorted(recorded_frameworks()))
mlflow.sklearn.autolog(disable=True)
print(sorted(recorded_frameworks()))
mlflow.sklearn.log_model
"""


def test_a_framework_of_mlflow_is_recorded_alone(task: Task, python: str) -> None:
    done = task.run_script(python, FLAVORS)
    assert done.stdout.splitlines() == [
        "['lightning', 'sklearn', 'torch']",
        "['lightning', 'torch']",
    ]
    assert "determined.compat.mlflow.sklearn has autolog, and no 'log_model'" in done.stderr


def test_autolog_of_mlflow_reports_to_the_open_run(task: Task, master: MasterDouble) -> None:
    done = task.run_script(sys.executable, WITH_PACKAGES + AUTOLOG_OF_MLFLOW)
    assert done.returncode == 0, done.stderr
    assert [(group, step, sorted(values)) for group, step, values in points(master)] == [
        ("training", 1, ["fit_seconds", "training_score"]),
        ("training", 1, ["rows"]),
    ]
    assert len(master.named("POST", "/api/v1/runs/start")) == 1, "the run's context is used"
    assert metadata(master)["params"] == {"by": "hand"}
    assert metadata(master)["autolog"]["LogisticRegression"]["C"] == 0.5
