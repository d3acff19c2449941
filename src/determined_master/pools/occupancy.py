"""Which slots of which agents are in use, updated with every change of an allocation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from determined_master.domain.schedule.view import AgentView

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation, Container
    from determined_master.ports.agents import AgentSnapshot


class Occupancy:
    """Slots and aux places that containers hold, by agent; and agents in the scheduler's form."""

    def __init__(self) -> None:
        self._slots: dict[str, dict[int, list[str]]] = {}
        """By agent and slot: the allocations that hold it."""
        self._aux: dict[str, int] = {}
        self._allocations: dict[str, set[str]] = {}
        self._seen: dict[str, tuple[AgentSnapshot, int, AgentView]] = {}

    def changed(self, before: Allocation | None, after: Allocation | None) -> None:
        """An allocation has a new state; None if it does not exist or has ended."""
        old, new = _places(before), _places(after)
        known = after or before
        if old == new or known is None:
            return
        for agent_id, slot_ids in old:
            self._give_back(agent_id, slot_ids, known.id)
        for agent_id, slot_ids in new:
            self._take(agent_id, slot_ids, known.id)
        for agent_id, _ in old:
            self._leave(known.id, agent_id)
        for agent_id, _ in new:
            self._allocations.setdefault(agent_id, set()).add(known.id)

    def allocations_on(self, agent_id: str) -> list[str]:
        """Sorted ids of the allocations with open containers there."""
        return sorted(self._allocations.get(agent_id, ()))

    def view(self, agent: AgentSnapshot, max_zero_slot_tasks: int) -> AgentView:
        """One agent now; the same object as before if nothing has changed."""
        known = self._seen.get(agent.id)
        if known and known[0] is agent and known[1] == max_zero_slot_tasks:
            return known[2]
        made = self._view(agent, max_zero_slot_tasks)
        self._seen[agent.id] = agent, max_zero_slot_tasks, made
        return made

    def forget_others(self, agents: Sequence[AgentSnapshot]) -> None:
        """Keep no more agents than exist: nothing is checked below that number."""
        if len(self._seen) <= len(agents):
            return
        known = {a.id for a in agents}
        for agent_id in [a for a in self._seen if a not in known]:
            del self._seen[agent_id]

    def _view(self, agent: AgentSnapshot, max_zero_slot_tasks: int) -> AgentView:
        used = self._slots.get(agent.id, {})
        foreign = agent.foreign_slots
        shut = agent.disabled_slots | agent.draining_slots
        slots = [d.id for d in agent.devices if d.id not in shut]
        holders = Counter(id for slot in shut for id in used.get(slot, ())) if shut else {}
        is_accepting = agent.is_connected and agent.is_enabled and not agent.is_draining
        return AgentView(
            id=agent.id,
            slots=len(slots),
            free_slots=tuple(sorted(s for s in slots if s not in used and s not in foreign)),
            zero_slot_tasks=self._aux.get(agent.id, 0),
            max_zero_slot_tasks=max_zero_slot_tasks,
            is_accepting=is_accepting,
            shut=tuple(sorted(holders.items())),
        )

    def _leave(self, allocation_id: str, agent_id: str) -> None:
        left = self._allocations.get(agent_id, set())
        left.discard(allocation_id)
        if not left:
            self._allocations.pop(agent_id, None)

    def _take(self, agent_id: str, slot_ids: tuple[int, ...], holder: str) -> None:
        self._seen.pop(agent_id, None)
        if not slot_ids:
            self._aux[agent_id] = self._aux.get(agent_id, 0) + 1
            return
        used = self._slots.setdefault(agent_id, {})
        for slot in slot_ids:
            used.setdefault(slot, []).append(holder)

    def _give_back(self, agent_id: str, slot_ids: tuple[int, ...], holder: str) -> None:
        self._seen.pop(agent_id, None)
        if not slot_ids:
            self._aux[agent_id] -= 1
            return
        used = self._slots[agent_id]
        for slot in slot_ids:
            used[slot].remove(holder)
            if not used[slot]:
                del used[slot]


def held(allocation: Allocation) -> list[Container]:
    """The open containers of an allocation."""
    return [c for c in allocation.containers if c.state != "TERMINATED"]


def _places(allocation: Allocation | None) -> list[tuple[str, tuple[int, ...]]]:
    return [] if allocation is None else [(c.agent_id, c.slot_ids) for c in held(allocation)]
