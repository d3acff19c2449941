"""A data set is processed in a task: by several ranks, killed, preempted and continued."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from tests.free_ports import free_port
from tests.harness.conftest import Task
from tests.harness.master_double import Call, MasterDouble

TORCH_PYTHON = os.environ.get("TORCH_PYTHON", "")

DEADLINE_S = 170

pytestmark = [
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.skipif(not TORCH_PYTHON, reason="TORCH_PYTHON names no Python: make test-torch"),
]

SCRIPT = """
import json, os, signal, time
import torch
from determined.pytorch import MetricReducer, experimental

torch.set_num_threads(1)
ARGUMENTS = json.loads(os.environ["ARGUMENTS"])


class Errors(MetricReducer):
    def reset(self):
        self.total = torch.zeros(())

    def update(self, value):
        self.total += value

    def per_slot_reduce(self):
        return self.total

    def cross_slot_reduce(self, per_slot_metrics):
        return float(sum(per_slot_metrics))


class Processor(experimental.TorchBatchProcessor):
    def __init__(self, context):
        self.context = context
        self.rank = context.get_distributed_rank()
        assert context.get_distributed_size() == int(os.environ.get("WORLD_SIZE", "1"))
        assert context.get_hparams() == {"lr": 0.1}
        model = torch.nn.Linear(2, 1)
        torch.nn.init.ones_(model.weight)
        self.model = context.prepare_model_for_inference(model)
        assert not self.model.training
        self.rows = context.wrap_reducer(sorted, name="rows")
        self.errors = context.wrap_reducer(Errors(), name="errors")
        self.errors.reset()
        self.results = {}

    def process_batch(self, batch, batch_idx):
        print("PROCESSED", self.rank, batch_idx, flush=True)
        batch = self.context.to_device(batch)
        with torch.no_grad():
            self.model(batch)
        self.results[batch_idx] = batch[:, 0].tolist()
        self.rows.update(len(batch))
        self.errors.update(batch[:, 0].sum())
        if [self.rank, batch_idx] == json.loads(os.environ.get("DIES_AT", "[]")):
            os.kill(os.getpid(), signal.SIGKILL)
        if batch_idx == int(os.environ.get("WAITS_AT", "-1")):
            while not self.context._core.preempt.should_preempt():
                time.sleep(0.01)

    def on_checkpoint_start(self):
        if not self.results:
            return
        with self.context.upload_path() as path:
            (path / f"{self.rank}-{min(self.results)}.json").write_text(json.dumps(self.results))
        self.results = {}

    def on_finish(self):
        print("FINISHED", self.rank, flush=True)
        self.context.report_metrics(f"rank-{self.rank}", 1, {"done": 1})


class Records(torch.utils.data.Dataset):
    def __len__(self):
        return 23

    def __getitem__(self, index):
        return torch.tensor([float(index), 1.0])


experimental.torch_batch_process(Processor, Records(), **ARGUMENTS)
"""


class Runs:
    """Runs of one trial; each continues from the last checkpoint that the master has."""

    def __init__(self, task: Task, master: MasterDouble) -> None:
        self.task = task
        self.master = master
        master.serve_files({"process.py": SCRIPT})
        master.on("GET", r"/api/v1/checkpoints/[^/]+$", self._checkpoint)
        task.env["DET_PYTHON_EXECUTABLE"] = TORCH_PYTHON
        task.env["C10D_PORT"] = str(free_port())
        task.env["INTER_TRAIN_PROCESS_COMM_PORT_1"] = str(free_port())
        task.config["checkpoint_storage"] = {"type": "shared_fs", "host_path": "/ignored"}

    def run(self, ranks: int = 1, env: dict[str, str] | None = None, **arguments: Any) -> Any:
        command = [TORCH_PYTHON, "process.py"]
        if ranks > 1:
            launcher = [TORCH_PYTHON, "-m", "determined.launch.torch_distributed"]
            command = [*launcher, *command]
        self.task.config["entrypoint"] = command
        self.task.config["resources"] = {"slots_per_trial": ranks}
        self.task.env["DET_SLOT_IDS"] = json.dumps(list(range(ranks)))
        rendezvous = {"addresses": ["127.0.0.1"], "rank": 0, "slots": [ranks]}
        self.master.on("GET", "/rendezvous$", (200, {"rendezvousInfo": rendezvous}))
        if self.checkpoints():
            self.task.env["DET_LATEST_CHECKPOINT"] = self.checkpoints()[-1]["uuid"]
        variables = {"ARGUMENTS": json.dumps(arguments), "OMP_NUM_THREADS": "1", **(env or {})}
        entry = [TORCH_PYTHON, "-S", "-m", "determined.exec.entry", "trial"]
        process = self.task.start(entry, env=variables)
        out, err = process.communicate(timeout=DEADLINE_S)
        return subprocess.CompletedProcess(entry, process.returncode, out, err)

    def checkpoints(self) -> list[dict[str, Any]]:
        return [call.body for call in self.master.named("POST", "/api/v1/checkpoints")]

    def steps(self) -> list[int]:
        return [one["metadata"]["steps_completed"] for one in self.checkpoints()]

    def records(self) -> list[float]:
        """The records of all stored results, in order."""
        [folder] = self.task.storage.glob("batch-output-1.abc")
        stored = [json.loads(path.read_text()) for path in folder.glob("*.json")]
        return sorted(r for batches in stored for records in batches.values() for r in records)

    def metrics(self) -> dict[str, Any]:
        [report] = [r for r in self.master.reports() if r["group"] == "validation"]
        metrics: dict[str, Any] = report["metrics"]["metrics"]["avgMetrics"]
        return metrics

    def _checkpoint(self, call: Call) -> Any:
        [one] = [c for c in self.checkpoints() if c["uuid"] == call.path.rsplit("/", 1)[1]]
        return 200, {"checkpoint": one}


@pytest.fixture
def runs(task: Task, master: MasterDouble) -> Runs:
    return Runs(task, master)


def processed(done: Any) -> list[tuple[int, int]]:
    words = [line.split() for line in done.stdout.splitlines() if "PROCESSED" in line]
    return sorted((int(rank), int(batch)) for *_, rank, batch in words)


EVERY_RECORD = [float(n) for n in range(23)]


def test_two_ranks_that_are_killed_process_each_record_and_reduce_their_metrics(
    runs: Runs,
) -> None:
    killed = runs.run(2, {"DIES_AT": "[1, 4]"}, batch_size=2, checkpoint_interval=2)
    assert killed.returncode != 0
    assert runs.steps() == [2, 4]
    done = runs.run(2, batch_size=2, checkpoint_interval=2)
    assert done.returncode == 0, done.stderr
    assert processed(done) == [(rank, batch) for rank in (0, 1) for batch in (4, 5)]
    assert runs.records() == EVERY_RECORD
    assert runs.steps() == [2, 4, 6]
    assert runs.metrics() == {"rows": [1] + 11 * [2], "errors": sum(EVERY_RECORD)}
    progress = [call.body["progress"] for call in runs.master.named("POST", "/progress")]
    assert progress[-1] == 1.0
    assert {r["group"] for r in runs.master.reports()} == {"validation", "rank-0", "rank-1"}


def test_a_preempted_run_saves_leaves_and_continues(runs: Runs, master: MasterDouble) -> None:
    master.preempt.set()
    left = runs.run(env={"WAITS_AT": "1"}, batch_size=4, checkpoint_interval=100)
    assert left.returncode == 0, left.stderr
    assert "FINISHED" not in left.stdout
    assert master.named("POST", "/signals/ack_preemption")
    [saved] = runs.steps()
    assert saved in (1, 2)
    assert saved == len(processed(left))
    master.preempt.clear()
    done = runs.run(batch_size=4, checkpoint_interval=100)
    assert done.returncode == 0, done.stderr
    assert "FINISHED" in done.stdout
    assert runs.records() == EVERY_RECORD
    assert runs.steps() == [saved, 6]
