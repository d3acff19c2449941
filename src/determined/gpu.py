"""The GPUs of this machine or container, as `nvidia-smi` and `rocm-smi` report them."""

from __future__ import annotations

import shutil
from typing import Dict, List, NamedTuple

from determined.exec._container import accelerators

gpu_fields = ["index", "uuid", "utilization.gpu", "memory.used", "memory.total"]


class GPU(NamedTuple):
    """One NVIDIA GPU; load and memory are shares from 0 to 1."""

    id: int
    uuid: str
    load: float
    memoryUtil: float


class GPUProcess(NamedTuple):
    """A process that has memory of a GPU."""

    pid: int
    process_name: str
    gpu_uuid: str
    used_memory: str


def get_gpus() -> List[GPU]:
    """The NVIDIA GPUs; empty without `nvidia-smi`."""
    gpus = []
    for row in _rows("gpu", gpu_fields):
        used, total = (float_or_default(row, f"memory.{part}", 0.0) for part in ("used", "total"))
        load = float_or_default(row, "utilization.gpu", 0.0) / 100
        gpus.append(GPU(int(row["index"]), row["uuid"], load, used / total if total else 0.0))
    return gpus


def get_gpu_uuids() -> List[str]:
    """The UUIDs of the NVIDIA or ROCm GPUs."""
    return accelerators.detect().uuids


def get_gpu_processes() -> List[GPUProcess]:
    """The processes on the NVIDIA GPUs; empty without `nvidia-smi`."""
    rows = _rows("compute-apps", list(GPUProcess._fields))
    return [
        GPUProcess(int(row["pid"]), row["process_name"], row["gpu_uuid"], row["used_memory"])
        for row in rows
    ]


def float_or_default(fields: Dict[str, str], key: str, default: float) -> float:
    """A field as a number; the default where the driver reports none, as `[N/A]`."""
    try:
        return float(fields[key])
    except ValueError:
        return default


def _rows(subject: str, fields: List[str]) -> List[Dict[str, str]]:
    if not shutil.which("nvidia-smi"):
        return []
    query = [f"--query-{subject}={','.join(fields)}", "--format=csv,noheader,nounits"]
    lines = accelerators.output(["nvidia-smi", *query]).splitlines()
    values = [[value.strip() for value in line.split(",")] for line in lines]
    return [dict(zip(fields, row)) for row in values if len(row) == len(fields)]
