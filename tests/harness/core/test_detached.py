"""Detached mode, as real processes, against a double of the master."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from tests.harness.conftest import SOURCE
from tests.harness.master_double import Call, MasterDouble

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

TRIAL = {"trial": {"id": 3, "taskId": "2.ext"}}


@pytest.fixture
def master(master: MasterDouble) -> MasterDouble:
    master.on("GET", "/api/v1/master$", (200, {"clusterId": "cluster"}))
    created = {"experiment": {"id": 2}, "config": {"reproducibility": {"experiment_seed": 5}}}
    master.on("POST", "/api/v1/experiments$", (200, created))
    master.on("PUT", "/api/v1/experiments/by-external-id/", (200, created))
    master.on("POST", "/api/v1/trials$", (200, TRIAL))
    master.on("PUT", "/api/v1/trials$", (200, TRIAL))
    master.on("POST", "/trials/3/start$", (200, {"trialRunId": 1, "stepsCompleted": 0}))
    master.on("PATCH", "/trials/3$", (200, TRIAL))
    master.on("POST", "/api/v1/task/logs$", (200, {}))
    return master


class Program:
    """Runs scripts off the cluster, in a home of their own."""

    def __init__(self, master: MasterDouble, root: pathlib.Path) -> None:
        self.root = root
        self._master = master

    def run(self, text: str) -> subprocess.CompletedProcess[str]:
        script = self.root / "script.py"
        script.write_text(text)
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "TMPDIR": str(self.root),
            "PYTHONPATH": str(SOURCE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "DET_MASTER": self._master.url,
            "DET_USER": "ann",
            "DET_USER_TOKEN": "her-token",
            "DET_RUN_DIR": str(self.root / "no-task"),
        }
        return subprocess.run(
            [sys.executable, str(script)],
            env=env,
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture
def program(master: MasterDouble, tmp_path: pathlib.Path) -> Program:
    return Program(master, tmp_path)


def states(master: MasterDouble) -> list[Any]:
    return [call.body.get("state") for call in master.named("PATCH", "/trials/3")]


def logged(master: MasterDouble) -> list[tuple[str, str]]:
    calls = master.named("POST", "/task/logs")
    return [(line["stdtype"], line["log"]) for call in calls for line in call.body["logs"]]


TRAIN = """
from determined.experimental import core_v2
core_v2.init(
    defaults=core_v2.DefaultConfig(name="unseen", labels=["a"], hparams={"lr": 1}),
    unmanaged=core_v2.UnmanagedConfig(name="mine", searcher={"name": "single", "metric": "loss"}),
    config=core_v2.Config(hparams={"lr": 2, "net": {"layers": 3}}),
)
print("hello")
core_v2.train.report_training_metrics(1, {"loss": 0.5})
core_v2.train.report_validation_metrics(1, {"loss": 0.25})
core_v2.train.report_progress(0.5)
with core_v2.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
    (path / "weights").write_text("12345")
assert core_v2.preempt.should_preempt() is False
assert core_v2.info.trial.hparams == {"lr": 2, "net": {"layers": 3}}
print(core_v2.url_reverse_webui_exp_view())
print(uuid, end="")
core_v2.close()
print("later")
"""


def test_a_program_reports_as_a_trial_of_the_cluster_does(
    program: Program, master: MasterDouble
) -> None:
    done = program.run(TRAIN)
    assert done.returncode == 0, done.stderr
    (create,) = master.named("POST", "/api/v1/experiments")
    assert create.body["unmanaged"] is True
    assert create.headers["Authorization"] == "Bearer her-token"
    config = json.loads(create.body["config"])
    assert (config["name"], config["labels"]) == ("mine", ["a"])
    assert config["searcher"] == {"name": "single", "metric": "loss"}
    folder = program.root / ".local/share/determined/checkpoints"
    assert config["checkpoint_storage"] == {"type": "directory", "container_path": str(folder)}
    (trial,) = master.named("POST", "/api/v1/trials")
    assert trial.body == {
        "experimentId": 2,
        "hparams": {"lr": 2, "net": {"layers": 3}},
        "unmanaged": True,
    }
    assert [r["group"] for r in master.reports()] == ["training", "validation"]
    (saved,) = master.named("POST", "/api/v1/checkpoints")
    assert (saved.body["taskId"], saved.body.get("allocationId")) == ("2.ext", None)
    assert (folder / saved.body["uuid"] / "weights").read_text() == "12345"
    assert states(master) == ["STATE_RUNNING", "STATE_COMPLETED"]
    texts = ["hello", f"{master.url}/det/experiments/2", saved.body["uuid"]]
    assert logged(master) == [("stdout", f"{text}\n") for text in texts]
    assert done.stdout == "\n".join(texts) + "later\n"
    assert list(program.root.glob("tensorboard-*")) == []


def test_a_name_of_ones_own_finds_the_trial_and_its_latest_checkpoint(
    program: Program, master: MasterDouble
) -> None:
    resumed = {"trialRunId": 4, "stepsCompleted": 70, "latestCheckpoint": "the-uuid"}
    master.on("POST", "/trials/3/start$", (200, resumed))
    done = program.run(
        "from determined.experimental import core_v2\n"
        "config = core_v2.Config(external_experiment_id='e/1', external_trial_id='t')\n"
        "with core_v2.init_context(config=config) as context:\n"
        "    print(context.info.latest_checkpoint, context.info.trial._steps_completed)\n"
        "    context.train.report_training_metrics(71, {'loss': 1})\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the-uuid 70\n"
    assert master.named("PUT", "/by-external-id/e%2F1")
    (put,) = master.named("PUT", "/api/v1/trials")
    assert put.body["externalTrialId"] == "t"
    assert master.reports()[0]["metrics"]["trialRunId"] == 4


@pytest.mark.parametrize(
    ("ending", "code"),
    [("raise RuntimeError('no')", 1), ("import sys; sys.exit(3)", 3), ("sys = 1", 0)],
)
def test_a_program_that_forgets_to_close_says_how_it_ended(
    program: Program, master: MasterDouble, ending: str, code: int
) -> None:
    done = program.run(
        "from determined.experimental import core_v2\n"
        "core_v2.init()\n"
        f"core_v2.train.report_training_metrics(1, {{'loss': 1}})\n{ending}\n"
    )
    assert done.returncode == code, done.stderr
    assert states(master) == ["STATE_RUNNING", "STATE_ERROR" if code else "STATE_COMPLETED"]
    assert len(master.reports()) == 1
    if code == 1:
        assert ("stderr", "RuntimeError: no\n") in logged(master)


def test_a_block_left_by_an_error_is_a_failed_trial(
    program: Program, master: MasterDouble
) -> None:
    done = program.run(
        "from determined.experimental import core_v2\n"
        "with core_v2.init_context() as context:\n"
        "    raise SystemExit(5)\n"
    )
    assert done.returncode == 5
    assert states(master) == ["STATE_RUNNING", "STATE_ERROR"]


def test_a_trial_that_a_user_has_ended_ends_its_program_in_peace(
    program: Program, master: MasterDouble
) -> None:
    def patch(call: Call) -> tuple[int, Any]:
        if call.body.get("state") == "STATE_COMPLETED":
            return 400, {"error": {"code": 9, "reason": "FailedPrecondition", "error": "CANCELED"}}
        return 200, TRIAL

    master.on("PATCH", "/trials/3$", patch)
    done = program.run(
        "from determined.experimental import core_v2\nwith core_v2.init_context():\n    pass\n"
    )
    assert done.returncode == 0, done.stderr


def test_parts_of_the_context_need_an_open_context(program: Program) -> None:
    done = program.run(
        "from determined.experimental import core_v2\n"
        "core_v2.train.report_training_metrics(1, {})\n"
    )
    assert "core_v2.train exists only between core_v2.init() and close()" in done.stderr
    done = program.run(
        "from determined.experimental import core_v2\n"
        "core_v2.init(config=core_v2.Config(external_trial_id='t'))\n"
    )
    assert "without external_experiment_id" in done.stderr


RANKS = """
import multiprocessing, sys
from determined.experimental import core_v2

def rank(number):
    dist = core_v2.DistributedContext(
        rank=number, size=2, local_rank=number, local_size=2, cross_rank=0, cross_size=1,
        chief_ip="127.0.0.1", pub_port=PORT,
    )
    with core_v2.init_context(distributed=dist) as context:
        context.train.report_training_metrics(1, {"loss": number})
        print("rank", number, context.info.trial.trial_id)

if __name__ == "__main__":
    other = multiprocessing.get_context("spawn").Process(target=rank, args=(1,))
    other.start()
    rank(0)
    other.join()
    sys.exit(other.exitcode)
"""


def test_the_ranks_of_a_program_are_one_trial(
    program: Program, master: MasterDouble, unused_port: int
) -> None:
    done = program.run(RANKS.replace("PORT", str(unused_port)))
    assert done.returncode == 0, done.stderr
    assert len(master.named("POST", "/api/v1/trials")) == 1
    assert len(master.named("POST", "/trials/3/start")) == 1
    assert [r["metrics"]["metrics"]["avgMetrics"] for r in master.reports()] == [{"loss": 0}]
    assert states(master) == ["STATE_RUNNING", "STATE_COMPLETED"]
    calls = master.named("POST", "/task/logs")
    lines = {(line["rankId"], line["log"]) for call in calls for line in call.body["logs"]}
    assert {(0, "rank 0 3\n"), (1, "rank 1 3\n")} <= lines


@pytest.mark.parametrize(
    ("status", "said"),
    [(403, "user does not have permission"), (401, "invalid credentials")],
)
def test_a_script_without_rights_ends_in_one_line(
    master: MasterDouble, program: Program, status: int, said: str
) -> None:
    master.on("POST", "/api/v1/experiments$", (status, {"error": {"error": said}}))
    done = program.run("from determined.experimental import core_v2\ncore_v2.init()\n")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("determined: ")
    caught = program.run(
        "from determined.common.api import errors\n"
        "from determined.experimental import core_v2\n"
        "try:\n    core_v2.init()\n"
        "except errors.BadRequestException:\n    print('caught')\n"
        "raise ValueError('other')\n"
    )
    assert caught.stdout == "caught\n"
    assert "Traceback" in caught.stderr
