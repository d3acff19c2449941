"""Plans a pool by its own scheduler."""

from __future__ import annotations

from determined_master.domain.schedule import fair_share, kubernetes, priority
from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.view import PoolView


def plan(view: PoolView) -> Plan:
    """Decide which requests start where, which tasks are preempted, and why the others wait.

    Args:
        view: one pool; the order of its parts never changes the plan.
    """
    if view.rules.queue:
        return kubernetes.hand_over(view)
    if view.rules.type == "kubernetes" or view.rules.max_slots_per_pod is not None:
        return kubernetes.as_nodes(_plan(kubernetes.as_agents(view)))
    return _plan(view)


def _plan(view: PoolView) -> Plan:
    if view.rules.type == "fair_share":
        return fair_share.plan(view)
    return priority.plan(view)
