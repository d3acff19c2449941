"""Slots that are NVIDIA's GPUs: they are found, given to tasks alone, measured, and freed.

`make test-gpu` runs these tests where there is a GPU and a Python with PyTorch.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gpu.conftest import TORCH_PYTHON, GpuCluster, decoded, processes_on_gpus, until

from determined.common.api.errors import APIException
from determined_agent.journal.load import Load, nvml_of_machine

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = """
import os, time
import torch
import determined as det

with det.core.init() as context:
    assert torch.cuda.device_count() == len(det.get_cluster_info().gpu_uuids) == 1
    name = torch.cuda.get_device_name(0)
    context.train.report_training_metrics(1, {"gigabytes": torch.cuda.mem_get_info()[1] / 2**30})
    print("trains on", name, os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
    context.profiler.on(sampling_interval=0.1, samples_per_report=5)
    a = torch.randn(8192, 8192, device="cuda")
    end = time.monotonic() + float(os.environ["SECONDS_TO_COMPUTE"])
    steps = 1
    while time.monotonic() < end and not context.preempt.should_preempt():
        for _ in range(10):
            a = torch.nn.functional.normalize(a @ a)
        steps += 1
        context.train.report_validation_metrics(steps, {"mean": float(a.mean())})
    context.profiler.off()
    with context.checkpoint.store_path({"steps_completed": steps}) as (path, _):
        torch.save(a[:16], path / "part.pt")
"""
AMP = """
import torch
from determined import pytorch

class Model(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(64, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))
        context.experimental.use_amp()
        assert context.device.type == "cuda", context.device
    def build_training_data_loader(self):
        return pytorch.DataLoader(torch.ones(256, 64), batch_size=16)
    build_validation_data_loader = build_training_data_loader
    def train_batch(self, batch, epoch_idx, batch_idx):
        assert batch.is_cuda
        loss = self.model(batch).mean() ** 2
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return loss
    def evaluate_batch(self, batch, batch_idx):
        return {"loss": self.model(batch).mean().abs()}
"""
SINGLE = {"name": "single", "metric": "mean", "max_length": {"batches": 1}}


def script(directory: Path, text: str) -> Path:
    (directory / "model_def.py").write_text(text)
    return directory


def busiest(load: Load) -> float:
    """The use of the busiest GPU in percent, as CloudWatch gets it."""
    return max(one.value for one in load.metrics() if one.gpu and one.name == "GPUUtilization")


def config(seconds: float) -> dict[str, object]:
    variables = [f"SECONDS_TO_COMPUTE={seconds}"]
    return {
        "entrypoint": f"{TORCH_PYTHON} model_def.py",
        "searcher": SINGLE,
        "environment": {"environment_variables": variables},
    }


def test_each_gpu_is_a_slot(cluster: GpuCluster) -> None:
    slots = decoded(cluster.det("slot", "list", "--json"))
    (agent,) = decoded(cluster.det("dev", "curl", "/api/v1/agents"))["agents"]
    devices = [slot["device"] for slot in agent["slots"].values()]
    assert {(one["uuid"], one["brand"]) for one in devices} == {tuple(g) for g in cluster.gpus}
    assert {one["type"] for one in devices} == {"TYPE_CUDA"}
    assert len(slots) == len(cluster.gpus)
    assert cluster.gpus[0].name in cluster.det("slot", "list")


def test_a_trial_computes_on_its_gpu_alone_and_is_measured(
    cluster: GpuCluster, tmp_path: Path
) -> None:
    experiment = cluster.train(script(tmp_path, SCRIPT), **config(8.0))
    (trial,) = experiment.list_trials()
    logs = "\n".join(trial.iter_logs())
    assert f"trains on {cluster.gpus[0].name}" in logs
    samples = [each.metrics for each in trial.iter_metrics("gpu")]
    uuids = {uuid for sample in samples for of_agent in sample.values() for uuid in of_agent}
    assert len(uuids) == 1
    assert uuids <= {gpu.uuid for gpu in cluster.gpus}
    values = [v for sample in samples for of_agent in sample.values() for v in of_agent.values()]
    assert max(value["gpu_util"] for value in values) > 50
    assert all(value["gpu_free_memory"] > 2**30 for value in values)
    assert processes_on_gpus() == ""


def test_without_a_slot_a_command_sees_no_gpu(cluster: GpuCluster) -> None:
    tell = "import torch; print('GPUs', torch.cuda.device_count())"
    none = cluster.det(
        "cmd", "run", "--config", "resources.slots=0", f'{TORCH_PYTHON} -c "{tell}"'
    )
    assert "GPUs 0" in none
    one = cluster.det("cmd", "run", "--config", "resources.slots=1", f'{TORCH_PYTHON} -c "{tell}"')
    assert "GPUs 1" in one


def test_a_killed_trial_frees_its_gpu(cluster: GpuCluster, tmp_path: Path) -> None:
    client = cluster.client
    whole = {"name": "killed", "resources": {"slots_per_trial": 1}, **config(600.0)}
    experiment = client.create_experiment(whole, str(script(tmp_path, SCRIPT)))
    until(lambda: "MiB" in processes_on_gpus(), "a process on the GPU", 120)
    metrics = cluster.det("dev", "curl", "/prom/det-state-metrics")
    [line] = [one for one in metrics.splitlines() if one.startswith("det_container_gpu{")]
    assert f'experiment_id="{experiment.id}"' in line
    assert any(f'gpu_uuid="{gpu.uuid}"' in line for gpu in cluster.gpus)
    load = Load(nvml=nvml_of_machine())
    until(lambda: busiest(load) > 50, "the load of the GPU for CloudWatch")
    experiment.kill()
    experiment.wait(interval=0.2)
    until(lambda: processes_on_gpus() == "", "the GPU is free", 30)


def test_a_paused_trial_frees_its_gpu_and_continues(cluster: GpuCluster, tmp_path: Path) -> None:
    client = cluster.client
    whole = {"name": "paused", "resources": {"slots_per_trial": 1}, **config(15.0)}
    experiment = client.create_experiment(whole, str(script(tmp_path, SCRIPT)))
    until(lambda: "MiB" in processes_on_gpus(), "a process on the GPU", 120)
    experiment.pause()
    until(lambda: processes_on_gpus() == "", "the GPU is free", 60)
    experiment.activate()
    assert experiment.wait(interval=0.5).name == "COMPLETED"


def test_a_pytorch_trial_trains_on_the_gpu_with_mixed_precision(
    cluster: GpuCluster, tmp_path: Path
) -> None:
    experiment = cluster.train(
        script(tmp_path, AMP),
        entrypoint=f"{TORCH_PYTHON} -m determined.exec.harness model_def:Model",
        hyperparameters={"global_batch_size": 16},
        searcher={**SINGLE, "metric": "loss", "max_length": {"batches": 32}},
    )
    (trial,) = experiment.list_trials()
    assert trial.summary_metrics["validation_metrics"]["loss"]["count"] >= 1
    assert experiment.top_checkpoint() is not None


def test_ranks_train_on_the_gpu_with_nccl(cluster: GpuCluster) -> None:
    launch = f"{TORCH_PYTHON} -m determined.launch.torch_distributed {TORCH_PYTHON} train.py"
    experiment = cluster.train(
        EXAMPLES / "digits_pytorch",
        entrypoint=launch,
        hyperparameters={"learning_rate": 0.1, "channels": 16, "global_batch_size": 64},
        searcher={"name": "single", "metric": "validation_accuracy", "smaller_is_better": False},
    )
    (trial,) = experiment.list_trials()
    best = trial.summary_metrics["validation_metrics"]["validation_accuracy"]["max"]
    assert best > 0.9


def test_more_gpus_than_the_machine_has_are_refused(cluster: GpuCluster, tmp_path: Path) -> None:
    count = len(cluster.gpus) + 1
    whole = {"name": "many", **config(1.0), "resources": {"slots_per_trial": count}}
    with pytest.raises(APIException, match=f"pool default has {count - 1} slots"):
        cluster.client.create_experiment(whole, str(script(tmp_path, SCRIPT)))
