"""The scheduler: a view of one pool goes through the stages, from top to bottom.

1. `eligible`: which requests take part.
2. `order`: in which turns they are served, and how many slots a turn may use. The policies
   differ in this stage: by priority, or by fair share.
3. `serve`: each request in turn fits, or others are preempted or agents reserved for it, or it
   waits with a reason (`plan.Wait`).

`reasons` and `why` explain a wait to its user.
"""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.domain.schedule import handover, kubernetes
from determined_master.domain.schedule.plan import Plan, Wait
from determined_master.domain.schedule.stages import fair_share, priority
from determined_master.domain.schedule.stages.eligible import eligible
from determined_master.domain.schedule.stages.planning import Planning
from determined_master.domain.schedule.stages.serving import serve
from determined_master.domain.schedule.view import PoolView


def plan(view: PoolView) -> Plan:
    """Decide which requests start where, which tasks are preempted, and why the others wait.

    Cost: O(n log n) in requests, O(jobs) a round of offers, O(log agents) a start, O(1) a request
    like one that did not fit.

    Args:
        view: one pool; the order of its parts never changes the plan.
    """
    if view.rules.queue:
        return handover.hand_over(view)
    if view.rules.type == "kubernetes" or view.rules.max_slots_per_pod is not None:
        return kubernetes.as_nodes(_plan(kubernetes.as_agents(view)))
    return _plan(view)


def _plan(view: PoolView) -> Plan:
    order = fair_share.order if view.rules.type == "fair_share" else priority.order
    slots, aux = (serve(order(planning)) for planning in eligible(view))
    first, second = (slots, aux) if slots.has_priorities else (aux, slots)
    return Plan(
        starts=(*first.starts, *second.starts),
        preemptions=(*slots.preemptions, *aux.preemptions),
        waits=(*_waits(slots), *_waits(aux)),
    )


def _waits(planning: Planning) -> Sequence[Wait]:
    """The waits of requests; a preempted task that will ask again is none yet."""
    if not planning.returning:
        return planning.waits
    return [w for w in planning.waits if w.allocation_id not in planning.returning]
