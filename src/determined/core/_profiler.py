"""System metrics (processor, memory, disk, network, accelerators) of the training machine."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Union

from determined._constants import shared_fs_path

if TYPE_CHECKING:
    from determined.core._distributed import DistributedContext
    from determined.core._metrics import _MetricsContext

Sample = Dict[str, Any]
Number = Union[int, float]


class ProfilerContext:
    """Samples the system metrics of this container's machine.

    Args:
        agent_id: the key of the values in every report.
        metrics: the spool for reports.
        distributed: the ranks; only local rank 0 of each container samples.
    """

    def __init__(
        self, agent_id: str, metrics: _MetricsContext, distributed: DistributedContext
    ) -> None:
        self._agent_id = agent_id
        self._metrics = metrics
        self._distributed = distributed
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def on(self, sampling_interval: Number = 1, samples_per_report: int = 10) -> None:
        """Start sampling; no effect if it is already on.

        Args:
            sampling_interval: seconds between samples, at least 0.1.
            samples_per_report: samples averaged into one report, at least 1.

        Raises:
            ValueError: a number is too small.
        """
        if not isinstance(sampling_interval, (int, float)) or sampling_interval < 0.1:
            raise ValueError(f"sampling_interval must be 0.1 s or more, got {sampling_interval!r}")
        if not isinstance(samples_per_report, int) or samples_per_report < 1:
            raise ValueError(f"samples_per_report must be 1 or more, got {samples_per_report!r}")
        if self._thread is not None or self._distributed.local_rank != 0:
            return
        self._stop.clear()
        self._thread = threading.Thread(
            target=self._run,
            args=(float(sampling_interval), samples_per_report),
            name="det-profiler",
            daemon=True,
        )
        self._thread.start()

    def off(self) -> None:
        """Stop sampling; samples of an incomplete report are dropped."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _run(self, interval_s: float, count: int) -> None:
        collectors = _collectors()
        samples: Dict[str, List[Sample]] = {group: [] for group in collectors}
        while not self._stop.wait(interval_s):
            for group, collect in collectors.items():
                sample = collect()
                if sample:
                    samples[group].append(sample)
                if len(samples[group]) >= count:
                    self._metrics.report(group, None, {self._agent_id: average(samples[group])})
                    samples[group] = []


class DummyProfilerContext(ProfilerContext):
    """Does nothing."""

    def __init__(self) -> None:
        pass

    def on(self, sampling_interval: Number = 1, samples_per_report: int = 10) -> None:
        """Do nothing."""

    def off(self) -> None:
        """Do nothing."""


def average(samples: List[Sample]) -> Sample:
    """The mean of each number over samples of the same shape, nested dicts included."""
    mean: Sample = {}
    for key in {key for sample in samples for key in sample}:
        values = [sample[key] for sample in samples if key in sample]
        is_map = isinstance(values[0], dict)
        mean[key] = average(values) if is_map else sum(values) / len(values)
    return mean


def _collectors() -> Dict[str, Callable[[], Sample]]:
    collectors: Dict[str, Callable[[], Sample]] = {
        "cpu": _Cpu().collect,
        "memory": _memory,
        "disk": _Rates(_disk_counts, _disk_sample).collect,
        "network": _Rates(_network_counts, _network_sample).collect,
    }
    gpus = _gpus()
    if gpus is not None:
        collectors["gpu"] = gpus
    return collectors


class _Cpu:
    """The processor utilization in percent since the last call."""

    def __init__(self) -> None:
        self._before = self._read()

    def collect(self) -> Sample:
        now = self._read()
        total = now[0] - self._before[0]
        idle = now[1] - self._before[1]
        self._before = now
        return {"cpu_util_simple": 100.0 * (1 - idle / total)} if total else {}

    def _read(self) -> Tuple[int, int]:
        fields = [int(n) for n in _lines("/proc/stat")[0].split()[1:9]] or [0] * 8
        return sum(fields), fields[3] + fields[4]


class _Rates:
    """Per-second rates of counters between two calls."""

    def __init__(
        self,
        read: Callable[[], Tuple[float, ...]],
        shape: Callable[[Tuple[float, ...]], Sample],
    ) -> None:
        self._read = read
        self._shape = shape
        self._at, self._before = time.monotonic(), read()

    def collect(self) -> Sample:
        at, now = time.monotonic(), self._read()
        passed = max(at - self._at, 1e-6)
        rates = tuple((b - a) / passed for a, b in zip(self._before, now))
        self._at, self._before = at, now
        return self._shape(rates)


def _memory() -> Sample:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return {"memory_free": int(line.split()[1]) * 1024}
    return {}


def _disk_counts() -> Tuple[float, ...]:
    operations = read = written = 0
    for line in _lines("/proc/diskstats"):
        fields = line.split()
        # Whole devices only; counting partitions too would count their traffic twice.
        if len(fields) > 9 and os.path.exists(f"/sys/block/{fields[2]}"):
            operations += int(fields[3]) + int(fields[7])
            read += int(fields[5]) * 512
            written += int(fields[9]) * 512
    return operations, read, written


def _disk_sample(rates: Tuple[float, ...]) -> Sample:
    operations, read, written = rates
    sample: Sample = {
        "disk_iops": operations,
        "disk_throughput_read": read,
        "disk_throughput_write": written,
        "/": {"disk_util": _used_percent("/")},
    }
    if os.path.isdir(shared_fs_path()):
        sample["/determined_shared_fs"] = {"disk_util": _used_percent(shared_fs_path())}
    return sample


def _used_percent(path: str) -> float:
    stat = os.statvfs(path)
    used = stat.f_blocks - stat.f_bfree
    usable = used + stat.f_bavail
    return 100.0 * used / usable if usable else 0.0


def _network_counts() -> Tuple[float, ...]:
    sent = received = 0
    for line in _lines("/proc/net/dev")[2:]:
        name, _, rest = line.partition(":")
        fields = rest.split()
        if name.strip() != "lo" and len(fields) > 8:
            received += int(fields[0])
            sent += int(fields[8])
    return sent, received


def _network_sample(rates: Tuple[float, ...]) -> Sample:
    return {"net_throughput_sent": rates[0], "net_throughput_recv": rates[1]}


def _gpus() -> Optional[Callable[[], Sample]]:
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [
            pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())
        ]
    except Exception:  # no library or no driver
        return None

    def collect() -> Sample:
        sample: Sample = {}
        for handle in handles:
            uuid = pynvml.nvmlDeviceGetUUID(handle)
            sample[uuid if isinstance(uuid, str) else uuid.decode()] = {
                "gpu_util": pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
                "gpu_free_memory": pynvml.nvmlDeviceGetMemoryInfo(handle).free,
            }
        return sample

    return collect


def _lines(path: str) -> List[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines() or [""]
    except OSError:
        return [""]
