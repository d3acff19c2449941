"""Contradictions of pools whose pods the cluster's own queue and scheduler place."""

from __future__ import annotations

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.settings.kubernetes.names import is_dns_label
from determined_master.settings.kubernetes.resource_manager import KubernetesManager
from determined_master.settings.pools import AnyResourceManager, Scheduler


def check_handover(
    scheduler: Scheduler, manager: AnyResourceManager, at: str, report: ProblemReport
) -> None:
    """Report settings of kueue that are missing, or that have no effect.

    Args:
        scheduler: of a pool, or of a manager of agents.
        manager: of the pool.
        at: the path of the scheduler.
        report: takes the problems.
    """
    is_cosched = isinstance(manager, KubernetesManager) and bool(manager.default_scheduler)
    if scheduler.type != "kueue":
        for key in ("queue_name", "priority_class"):
            if getattr(scheduler, key):
                report.problem(f"{at}.{key}", f'needs type "kueue": found "{scheduler.type}"')
        if is_cosched and scheduler.type == "fair_share":
            text = "has no effect: the scheduler of default_scheduler decides; remove one"
            report.warn(f"{at}.type", f'"fair_share" {text}')
    elif not isinstance(manager, KubernetesManager):
        report.problem(f"{at}.type", '"kueue" is for pools of a Kubernetes manager: use priority')
        return
    else:
        _check_kueue(scheduler, manager, at, report)
    if scheduler.preemption and (is_cosched or scheduler.type == "kueue"):
        text = "has no effect: the cluster's own scheduler decides; remove it"
        report.warn(f"{at}.preemption", text)


def _check_kueue(
    scheduler: Scheduler, manager: KubernetesManager, at: str, report: ProblemReport
) -> None:
    if not scheduler.queue_name:
        text = "must name kueue's LocalQueue in the namespace of the tasks: type is kueue"
        report.problem(f"{at}.queue_name", text)
    for key in ("queue_name", "priority_class"):
        value = getattr(scheduler, key)
        if value and not is_dns_label(value):
            text = (
                "must be a DNS label: at most 63 lower-case letters, digits and dashes, with a "
                f'letter or digit at both ends, but found "{value}"'
            )
            report.problem(f"{at}.{key}", text)
    if manager.device_class:
        text = '"kueue" and resource_manager.device_class exclude each other: use another type'
        report.problem(f"{at}.type", text)
    if manager.default_scheduler:
        text = (
            '"kueue" and resource_manager.default_scheduler exclude each other: leave that empty, '
            "or use another type"
        )
        report.problem(f"{at}.type", text)
