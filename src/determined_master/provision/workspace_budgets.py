"""The budgets of workspaces, compared with what their tasks hold in all pools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from determined_master.domain.machines.workspace_budgets import (
    BudgetedRequest,
    Spender,
    WorkspaceBudget,
    over_budget,
)
from determined_master.store.configs.policies import list_budgets
from determined_master.store.workspaces.owners import find_workspaces

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation
    from determined_master.domain.machines.workspace_budgets import Budgets
    from determined_master.domain.schedule.view import RequestView
    from determined_master.pools.live import LiveAllocations
    from determined_master.store.db import Conn, Database


class WorkspaceBudgets:
    """Decides for which requests no machine may start."""

    def __init__(
        self, db: Database, live: LiveAllocations, slot_price: Callable[[str], float | None]
    ) -> None:
        """
        Args:
            db: for config policies and the workspaces of jobs.
            live: all that waits and runs.
            slot_price: dollars an hour of a slot of a pool; None where it is unknown.
        """
        self._db = db
        self._live = live
        self._slot_price = slot_price

    async def held_back(self, waiting: Sequence[RequestView]) -> Mapping[str, str]:
        """The requests for which no machine may start, by allocation, each with the reason.

        Raises database errors.
        """
        ids = [request.allocation_id for request in waiting]
        asking = self._priced(live for id in ids if (live := self._live.find(id)) is not None)
        if not asking:
            return {}
        async with self._db.acquire() as conn:
            budgets = await _budgets(conn)
            if not budgets:
                return {}
            running = self._priced(a for a in self._live.values() if a.state != "PENDING")
            jobs = {allocation.request.job_id for allocation, _ in (*asking, *running)}
            workspaces = await find_workspaces(conn, "job", sorted(jobs))
        spent: dict[Spender, float] = {}
        for spender, _, cost in _of_workspaces(running, workspaces):
            spent[spender] = spent.get(spender, 0.0) + cost
        demands = [
            BudgetedRequest(id, spender, cost)
            for spender, id, cost in _of_workspaces(asking, workspaces)
        ]
        return over_budget(demands, spent, budgets)

    def _priced(self, allocations: Iterable[Allocation]) -> list[tuple[Allocation, float]]:
        """Those that hold or need slots of a known price, with their dollars an hour."""
        priced = []
        for allocation in allocations:
            request = allocation.request
            price = self._slot_price(request.pool) if request.slots else None
            if price is not None:
                priced.append((allocation, price * request.slots))
        return priced


async def _budgets(conn: Conn) -> Budgets:
    return {
        (row.workspace_id, row.workload_type): WorkspaceBudget(
            row.max_cost_per_hour,
            "the cluster" if row.workspace_name is None else f"workspace '{row.workspace_name}'",
        )
        for row in await list_budgets(conn)
    }


def _of_workspaces(
    priced: Iterable[tuple[Allocation, float]], workspaces: Mapping[str, int]
) -> list[tuple[Spender, str, float]]:
    costs = []
    for allocation, cost in priced:
        workspace_id = workspaces.get(allocation.request.job_id)
        if workspace_id:
            kind = allocation.request.task_type
            spender = Spender(workspace_id, "EXPERIMENT" if kind == "TRIAL" else "NTSC")
            costs.append((spender, allocation.id, cost))
    return costs
