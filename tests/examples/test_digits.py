"""The example that `make demo` runs, off the cluster and as a trial of a double."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import threading

import pytest
from tests.harness.conftest import SOURCE, Task
from tests.harness.master_double import Answer, Call, MasterDouble

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

DIGITS = pathlib.Path(__file__).parents[2] / "examples" / "digits"


def test_it_learns_off_the_cluster(tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=DIGITS,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(SOURCE), "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stderr.rpartition("validation accuracy ")[2].split()[0]) >= 0.95
    assert len(list(tmp_path.glob("determined/checkpoints/*/weights.npz"))) == 4


def test_a_preempted_trial_saves_and_resumes_where_it_was(
    task: Task, master: MasterDouble
) -> None:
    master.serve_files({"train.py": (DIGITS / "train.py").read_text()})
    task.config["entrypoint"] = [sys.executable, "train.py"]
    task.env["DET_HPARAMS"] = (
        '{"learning_rate": 0.05, "hidden_size": 32, "alpha": 0.0001, "batch_size": 64}'
    )
    answered = threading.Event()

    def tell(call: Call) -> Answer:
        answer = master._wait_for_preemption(call)
        answered.set()
        return answer

    def store(_: Call) -> Answer:
        """It saves at a quarter of its way, and waits there until it has been told to leave."""
        return (200, {}) if answered.wait(60) else (500, {})

    master.on("GET", "/signals/preemption$", tell)
    master.on("POST", "/api/v1/checkpoints$", store)
    master.preempt.set()
    p = task.start([sys.executable, "-m", "determined.exec.entry", "trial"])
    _, err = p.communicate(timeout=120)
    assert p.returncode == 0, err
    saved = master.named("POST", "/api/v1/checkpoints")[-1].body
    epoch = saved["metadata"]["steps_completed"]
    assert 1 <= epoch < 16
    assert master.named("POST", "/ack_preemption")

    master.preempt.clear()
    master.calls.clear()
    task.env.update(DET_LATEST_CHECKPOINT=saved["uuid"], DET_STEPS_COMPLETED=str(epoch))
    done = task.enter(sys.executable)
    assert done.returncode == 0, done.stderr
    steps = [
        r["metrics"]["stepsCompleted"] for r in master.reports() if r["group"] == "validation"
    ]
    assert steps == list(range(epoch + 1, 17))
