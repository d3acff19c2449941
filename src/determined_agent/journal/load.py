"""The load of this machine: processors, memory and NVIDIA's GPUs, in percent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple


class Metric(NamedTuple):
    """A value in percent; `gpu` is the index of a GPU, empty for the machine."""

    name: str
    value: float
    gpu: str = ""


class CpuTimes(NamedTuple):
    """Jiffies since the start of the machine."""

    idle: int
    total: int


def cpu_times(stat: str) -> CpuTimes:
    """The times of all processors in `/proc/stat`."""
    times = [int(word) for word in stat.splitlines()[0].split()[1:9]]
    return CpuTimes(idle=times[3] + times[4], total=sum(times))


def cpu_percent(before: CpuTimes, after: CpuTimes) -> float:
    """The share of the time between two looks in which processors were busy."""
    total = after.total - before.total
    idle = min(max(after.idle - before.idle, 0), total)
    return round(100 * (total - idle) / total, 2) if total > 0 else 0.0


def memory_percent(meminfo: str) -> float:
    """The share of memory that programs could not get, by `/proc/meminfo`."""
    fields = {line.partition(":")[0]: line.split() for line in meminfo.splitlines()}
    total, available = int(fields["MemTotal"][1]), int(fields["MemAvailable"][1])
    return round(100 * (total - available) / total, 2)


class Load:
    """Looks at this machine again and again."""

    def __init__(self, proc: Path = Path("/proc"), nvml: Any = None) -> None:
        """
        Args:
            proc: of the kernel.
            nvml: the module `pynvml`, initialized; None without GPUs.
        """
        self._proc = proc
        self._nvml = nvml
        self._before = cpu_times((proc / "stat").read_text())

    def metrics(self) -> list[Metric]:
        """The load since the last call, and of GPUs at this moment."""
        now = cpu_times((self._proc / "stat").read_text())
        metrics = [
            Metric("CPUUtilization", cpu_percent(self._before, now)),
            Metric("MemoryUtilization", memory_percent((self._proc / "meminfo").read_text())),
        ]
        self._before = now
        return metrics + (self._gpus() if self._nvml is not None else [])

    def _gpus(self) -> list[Metric]:
        nvml, metrics = self._nvml, []
        for index in range(nvml.nvmlDeviceGetCount()):
            gpu = nvml.nvmlDeviceGetHandleByIndex(index)
            try:
                memory = nvml.nvmlDeviceGetMemoryInfo(gpu)
                share = round(100 * memory.used / memory.total, 2)
                busy = float(nvml.nvmlDeviceGetUtilizationRates(gpu).gpu)
            except nvml.NVMLError:  # a GPU that is divided (MIG) has no utilization
                continue
            metrics += [
                Metric("GPUUtilization", busy, str(index)),
                Metric("GPUMemoryUtilization", share, str(index)),
            ]
        return metrics


def nvml_of_machine() -> Any:
    """NVIDIA's library, ready to be asked; None on a machine without it."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml
