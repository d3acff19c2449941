"""Small sections of an experiment's configuration, most of them for older trainers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from determined_master.domain.config.schema.containers import Field, ListOf, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import Boolean, Integer, OneOf, Text
from determined_master.domain.config.sections.environment import after

MAX_SEED = 2**32 - 1
_OLD = "has no effect any more: set it in the training script"
_CLASSES = "applies only to trial classes (module:Class): a script decides by itself"


def _ordered_batches(profiling: dict[str, Any], at: str, report: ProblemReport) -> None:
    begin, end = profiling.get("begin_on_batch"), profiling.get("end_after_batch")
    if begin is not None and end is not None and begin > end:
        text = f"begin_on_batch must be less than end_after_batch, but {begin} is more than {end}"
        report.problem(at, text)


PROFILING = Object(
    {
        "enabled": Field(Boolean(), False, "Record usage of CPU, GPU, memory, disk and network."),
        "begin_on_batch": Field(Integer(at_least=0), 0, no_effect=_OLD),
        "end_after_batch": Field(Integer(at_least=0), no_effect=_OLD),
        "sync_timings": Field(Boolean(), True, no_effect=_OLD),
    },
    rules=(_ordered_batches,),
)

OPTIMIZATIONS = Object(
    {
        "aggregation_frequency": Field(Integer(at_least=1), 1, no_effect=_CLASSES),
        "average_aggregated_gradients": Field(Boolean(), True, no_effect=_CLASSES),
        "average_training_metrics": Field(Boolean(), True, no_effect=_OLD),
        "gradient_compression": Field(Boolean(), False, no_effect=_OLD),
        "mixed_precision": Field(OneOf(("O0", "O1", "O2", "O3")), "O0", no_effect=_OLD),
        "tensor_fusion_threshold": Field(Integer(at_least=0), 64, no_effect=_OLD),
        "tensor_fusion_cycle_time": Field(Integer(at_least=0), 1, no_effect=_OLD),
        "auto_tune_tensor_fusion": Field(Boolean(), False, no_effect=_OLD),
        "grad_updates_size_file": Field(Text(), no_effect=_OLD),
    }
)

REPRODUCIBILITY = Object(
    {
        "experiment_seed": Field(
            Integer(at_least=0, at_most=MAX_SEED), is_required=True, doc="Seed of the search."
        )
    }
)

RETENTION_POLICY = Object(
    {
        "log_retention_days": Field(
            Integer(at_least=-1, at_most=32767),
            is_required=True,
            doc="Days to keep logs after a task's end; -1 forever.",
        )
    }
)

SECURITY = Object({"kerberos": Field(Object({"config_file": Field(Text(), is_required=True)}))})

_REQUIRED_TEXT = Field(Text(), is_required=True)
_REQUIRED_PORT = Field(Integer(at_least=0, at_most=65535), is_required=True)
_PACHYDERM = Object(
    {
        "pachd": Field(Object({"host": _REQUIRED_TEXT, "port": _REQUIRED_PORT}), is_required=True),
        "proxy": Field(
            Object({"scheme": _REQUIRED_TEXT, "host": _REQUIRED_TEXT, "port": _REQUIRED_PORT}),
            is_required=True,
        ),
        "dataset": Field(
            Object({k: _REQUIRED_TEXT for k in ("project", "repo", "commit", "branch", "token")}),
            is_required=True,
        ),
    }
)
_WEBHOOKS = Object(
    {
        "webhook_id": Field(ListOf(Integer()), doc="Webhooks to call, by id."),
        "webhook_name": Field(ListOf(Text()), doc="Webhooks to call, by name."),
        "exclude": Field(Boolean(), False, "Call no webhook for this experiment."),
    }
)
INTEGRATIONS = Object(
    {
        "pachyderm": Field(_PACHYDERM, doc="Source of the data; shown, not used."),
        "webhooks": Field(_WEBHOOKS, doc="Which webhooks to call."),
    }
)


class BatchArguments(ListOf):
    """Arguments of a batch system; a lower layer's come first."""

    def merge(self, high: Any, low: Any) -> Any:
        return super().merge(high, low) if high is None or low is None else after(low, high)


_SBATCH_LONG = [
    "--ntasks-per-node",
    "--gpus",
    "--nodes",
    "--ntasks",
    "--chdir",
    "--error",
    "--output",
    "--partition",
    "--no-requeue",
    "--requeue",
]
_SBATCH_SHORT = ["-G", "-N", "-n", "-D", "-e", "-o", "-p"]
_PBS_SHORT = [
    "-c",
    "-C",
    "-e",
    "-G",
    "-h",
    "-I",
    "-j",
    "-J",
    "-k",
    "-o",
    "-q",
    "-r",
    "-R",
    "-S",
    "-u",
    "-v",
    "-V",
    "-W",
    "-X",
    "-z",
]


def _refusing(is_ours: Callable[[str], bool]) -> Callable[[str], str | None]:
    def check(argument: str) -> str | None:
        option = argument.split("=")[0].split(" ")[0]
        return f"option {option} is not configurable" if is_ours(argument) else None

    return check


def _is_ours_in_slurm(argument: str) -> bool:
    option = argument.split("=")[0].split(" ")[0]
    if option == "--gres":
        return "gpu" in argument
    short = not argument.startswith("--") and argument[:2] in _SBATCH_SHORT
    return option in _SBATCH_LONG or short


def _is_ours_in_pbs(argument: str) -> bool:
    option = argument.split("=")[0].split(" ")[0]
    short = not argument.startswith("--") and argument[:2] in _PBS_SHORT
    return option in ("--version", "--") or short


_SLOTS_PER_NODE = Field(Integer(at_least=1), is_hidden_when_null=True, doc="Minimum.")
SLURM = Object(
    {
        "slots_per_node": _SLOTS_PER_NODE,
        "gpu_type": Field(Text(), is_hidden_when_null=True),
        "sbatch_args": Field(
            BatchArguments(Text(_refusing(_is_ours_in_slurm))), is_hidden_when_null=True
        ),
    }
)
PBS = Object(
    {
        "slots_per_node": _SLOTS_PER_NODE,
        "pbsbatch_args": Field(
            BatchArguments(Text(_refusing(_is_ours_in_pbs))), is_hidden_when_null=True
        ),
    }
)
