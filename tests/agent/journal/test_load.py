"""The load of a machine, from the kernel's files and NVIDIA's library."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from determined_agent.journal.load import CpuTimes, Load, Metric, cpu_percent, memory_percent

STAT = "cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
MEMINFO = "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  250 kB\n"


def test_the_load_of_processors_is_that_since_the_last_look(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(STAT.format(busy=900, idle=100))
    (tmp_path / "meminfo").write_text(MEMINFO)
    load = Load(tmp_path)
    (tmp_path / "stat").write_text(STAT.format(busy=925, idle=175))
    assert load.metrics() == [Metric("CPUUtilization", 25.0), Metric("MemoryUtilization", 75.0)]
    assert load.metrics()[0] == Metric("CPUUtilization", 0.0)


def test_idle_times_that_the_kernel_corrects_are_within_bounds() -> None:
    assert cpu_percent(CpuTimes(10, 100), CpuTimes(9, 200)) == 100.0
    assert cpu_percent(CpuTimes(0, 100), CpuTimes(300, 200)) == 0.0


def test_memory_that_caches_hold_is_free() -> None:
    assert memory_percent(MEMINFO) == 75.0


def test_each_gpu_has_metrics_of_its_own_and_divided_ones_have_none(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(STAT.format(busy=1, idle=1))
    (tmp_path / "meminfo").write_text(MEMINFO)
    found = Load(tmp_path, Library()).metrics()[2:]
    assert found == [
        Metric("GPUUtilization", 80.0, "0"),
        Metric("GPUMemoryUtilization", 25.0, "0"),
    ]


def test_the_load_of_this_machine_can_be_read() -> None:
    assert all(0 <= metric.value <= 100 for metric in Load().metrics())


class Library:
    """NVIDIA's library on a machine with a GPU and a divided one."""

    class NVMLError(Exception):
        """Of a divided GPU."""

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetMemoryInfo(self, gpu: int) -> Any:
        return SimpleNamespace(used=4, total=16)

    def nvmlDeviceGetUtilizationRates(self, gpu: int) -> Any:
        if gpu:
            raise self.NVMLError("Not Supported")
        return SimpleNamespace(gpu=80)
