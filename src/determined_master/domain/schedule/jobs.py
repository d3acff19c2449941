"""The sums over each job's requests and tasks in a pool.

A caller that keeps a pool's queue keeps these too, so unchanged jobs cost a plan little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter

import msgspec

from determined_master.domain.schedule.fitting import demand_of
from determined_master.domain.schedule.ordering import age_key
from determined_master.domain.schedule.view import JobView, PoolView, RequestView, RunningView

_id_of = attrgetter("allocation_id")
_slots_of = attrgetter("slots")
_limit_of = attrgetter("max_slots")
_weight_of = attrgetter("weight")
_submitted_of = attrgetter("submitted_at")


class _Held(msgspec.Struct, frozen=True, gc=False):
    """Slots of a job's running tasks."""

    all: int = 0
    staying: int = 0
    fixed: int = 0
    smallest_loose: int | None = None


def job_view(
    job_id: str, pending: Iterable[RequestView], running: Sequence[RunningView]
) -> JobView:
    """One job from its parts, in any order.

    Args:
        job_id: the job's id.
        pending: its requests for slots.
        running: its tasks with slots; both together are at least one.
    """
    ordered = sorted(pending, key=age_key)
    sizes = list(map(_slots_of, ordered))
    held = _held(running)
    smallest_asked = min(sizes, default=None)
    loose = [n for n in (smallest_asked, held.smallest_loose) if n is not None]
    members: list[RequestView | RunningView] = [*ordered, *running]
    limits = set(map(_limit_of, members)) - {None}
    total = sum(map(_slots_of, running)) + sum(sizes)
    return JobView(
        job_id=job_id,
        pending=tuple(ordered),
        ids=tuple(map(_id_of, ordered)),
        running=tuple(running),
        submitted_at=min(map(_submitted_of, [*ordered[:1], *running])),
        weight=max(map(_weight_of, members)),
        demand=min([total, *limits]),
        smallest=min(loose, default=None),
        smallest_asked=smallest_asked,
        holds=held.all,
        staying=held.staying,
        fixed=held.fixed,
        demands=frozenset(map(demand_of, ordered)),
        agents=frozenset([a for r in running if not r.is_gone for a, _ in r.slots_by_agent]),
    )


def _held(running: Sequence[RunningView]) -> _Held:
    if not running:
        return _Held()
    holds = staying = fixed = 0
    loose: list[int] = []
    for one in running:
        slots = one.slots
        is_staying = not (one.is_leaving or one.is_gone)
        if not one.is_gone:
            holds += slots
        if is_staying:
            staying += slots
        if is_staying and (one.is_long_awaited or not one.is_preemptible):
            fixed += slots
        else:
            loose.append(slots)
    return _Held(holds, staying, fixed, min(loose, default=None))


def jobs_of(view: PoolView) -> Sequence[JobView]:
    """All jobs of a pool with requests for slots, or tasks that have some."""
    if view.jobs is not None:
        return view.jobs
    pending: dict[str, list[RequestView]] = {}
    running: dict[str, list[RunningView]] = {}
    for request in view.pending:
        if request.slots > 0:
            pending.setdefault(request.job_id, []).append(request)
    for one in view.running:
        if one.slots > 0:
            running.setdefault(one.job_id, []).append(one)
    ids = dict.fromkeys([*pending, *running])
    return [job_view(id, pending.get(id, ()), running.get(id, ())) for id in ids]


def active_slots(running: Iterable[RunningView]) -> Counter[str]:
    """The slots that each job's tasks hold."""
    active: Counter[str] = Counter()
    for one in running:
        if not one.is_gone:
            active[one.job_id] += one.slots
    return active
