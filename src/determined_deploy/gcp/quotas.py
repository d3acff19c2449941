"""Quotas of a project that a cluster needs. Pure."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, NamedTuple

from determined_deploy.gcp import series
from determined_deploy.gcp.options import GcpOptions

_GPU_METRICS: Mapping[str, str] = {
    "nvidia-tesla-k80": "NVIDIA_K80_GPUS",
    "nvidia-tesla-t4": "NVIDIA_T4_GPUS",
    "nvidia-tesla-p4": "NVIDIA_P4_GPUS",
    "nvidia-tesla-p100": "NVIDIA_P100_GPUS",
    "nvidia-tesla-v100": "NVIDIA_V100_GPUS",
    "nvidia-tesla-a100": "NVIDIA_A100_GPUS",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
    "nvidia-l4": "NVIDIA_L4_GPUS",
    "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
}
"""The regional quota of each type of GPU; newer types have none there."""


class Need(NamedTuple):
    """An amount of a metric that must be free, or that the limit must allow at all."""

    metric: str
    amount: float
    is_free: bool
    of_preemptible: str = ""
    """The metric that counts instead, once the project has some of it."""


class ClusterCpus(NamedTuple):
    """The vCPUs of a machine of each kind, as GCP says; 0 if it does not."""

    master: int
    compute: int
    aux: int


def regional(options: GcpOptions, cpus: ClusterCpus, is_new: bool) -> Iterator[Need]:
    """Needs of a region: the master at once, and an agent of each pool at some time."""
    if options.has_gpus and options.gpu_type in _GPU_METRICS:
        metric = _GPU_METRICS[options.gpu_type]
        yield Need(
            f"PREEMPTIBLE_{metric}" if options.preemptible else metric, options.gpu_num, False
        )
    if is_new:
        yield Need(series.of(options.master_instance_type).cpu_quota, cpus.master, True)
        yield Need("STATIC_ADDRESSES", 1, True)
    # Preemptible machines count against the usual quota in projects without one of their own.
    other = "PREEMPTIBLE_CPUS" if options.preemptible else ""
    yield Need(series.of(options.compute_instance_type).cpu_quota, cpus.compute, False, other)
    yield Need(series.of(options.aux_instance_type).cpu_quota, cpus.aux, False)


def of_project(options: GcpOptions, makes_network: bool, is_new: bool) -> Iterator[Need]:
    """Needs of the whole project."""
    if options.has_gpus and not options.preemptible:
        yield Need("GPUS_ALL_REGIONS", options.gpu_num, False)
    if makes_network:
        yield Need("NETWORKS", 1, True)
    if is_new and not options.host_project:
        yield Need("FIREWALLS", 4, True)


def problems(needs: Iterator[Need], limits: Any, where: str) -> Iterator[str]:
    """Needs that the quotas do not cover, in words; quotas that GCP does not list are no problem.

    Args:
        needs: amounts.
        limits: the `quotas` of a region or a project.
        where: the region or project.
    """
    by_metric: Dict[str, Any] = {one["metric"]: one for one in limits or ()}
    for need in needs:
        other = by_metric.get(need.of_preemptible)
        quota = other if other and float(other.get("limit", 0)) else by_metric.get(need.metric)
        if quota is None:
            continue
        limit, usage = float(quota.get("limit", 0)), float(quota.get("usage", 0))
        room = limit - usage if need.is_free else limit
        if room < need.amount:
            used = f", and {usage:g} are in use" if need.is_free else ""
            yield (
                f"the quota {quota['metric']} of {where} is {limit:g}{used}, and this needs "
                f"{need.amount:g}: request an increase in the console (IAM & Admin, Quotas)"
            )
