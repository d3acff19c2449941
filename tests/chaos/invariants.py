"""What must hold at each commit and on each machine, whatever breaks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tests.chaos.machine import Container, Machine
from tests.chaos.tables import Row, RowKey

from determined_master.aggregates import KINDS
from determined_master.domain.allocation.messages import Allocation
from determined_master.domain.experiment.messages import Experiment, TrialEnded
from determined_master.domain.states import ALLOCATION_ORDER, EXPERIMENT_NEXT, TERMINAL, TRIAL_NEXT
from determined_master.domain.trial.messages import Trial

Changes = dict[RowKey, tuple[Row | None, Row | None]]
_CODECS = {kind.name: kind.codec for kind in KINDS}
_NEXT: dict[str, Any] = {"experiment": EXPERIMENT_NEXT, "trial": TRIAL_NEXT}


class CommitChecks:
    """Watches the database's commits."""

    def __init__(self, violate: Callable[[str], None], tell: Callable[[str], None]) -> None:
        self._violate, self._tell = violate, tell
        self.applied = 0
        """Events that were applied."""
        self.states: dict[tuple[str, str], Any] = {}
        self.leases: dict[tuple[str, int], tuple[str, str]] = {}
        """By agent and slot: the container that holds it, and its allocation."""
        self._open: dict[int, str] = {}
        """The open allocation of each trial."""
        self._ends: set[tuple[str, str]] = set()

    def committed(self, changed: Changes) -> None:
        """Check one transaction."""
        aggregates = [at[1] for at in changed if at[0] == "aggregates"]
        for key in aggregates:
            before, after = changed["aggregates", key]
            assert after is not None
            state = _CODECS[key[0]].state(after["state"])
            known = self.states.get(key)
            self.states[key] = state
            if before is not None and after["version"] <= before["version"]:
                self._violate(f"{key} went back to version {after['version']}")
            if known is None or known.state != state.state:
                self._tell(f"{key[0]} {key[1]}: {state.state}{_tail(state)}")
            self._check_step(key, known, state)
        for at, (before, after) in changed.items():
            if at[0] == "journal" and before is None and after is not None:
                self.applied += 1
                self._check_event(at[1], after)

    def open_runs(self) -> list[Any]:
        """Allocations and trials that are not over, as they are."""
        over = (*TERMINAL, "TERMINATED")
        kinds = ("trial", "allocation")
        return [s for (kind, _), s in self.states.items() if kind in kinds and s.state not in over]

    def _check_step(self, key: tuple[str, str], before: Any, after: Any) -> None:
        if isinstance(after, Allocation):
            self._check_allocation(before, after)
        elif isinstance(after, Experiment | Trial) and before is not None:
            is_same = before.state == after.state
            if not is_same and not _is_legal(key[0], before.state, after.state):
                self._violate(f"{key[0]} {key[1]} went from {before.state} to {after.state}")

    def _check_allocation(self, before: Allocation | None, after: Allocation) -> None:
        if before and ALLOCATION_ORDER[after.state] < ALLOCATION_ORDER[before.state]:
            self._violate(f"allocation {after.id} went from {before.state} to {after.state}")
        for slot, container in _held(before).items():
            if self.leases.get(slot, ("", ""))[0] == container:
                del self.leases[slot]
        for slot, container in _held(after).items():
            other = self.leases.setdefault(slot, (container, after.id))
            if other[0] != container:
                self._violate(
                    f"leased twice: slot {slot[1]} of {slot[0]}, to {other[1]} and {after.id}"
                )
        trial_id = after.request.trial_id
        if trial_id is None:
            return
        if after.state == "TERMINATED":
            if self._open.get(trial_id) == after.id:
                del self._open[trial_id]
        elif self._open.setdefault(trial_id, after.id) != after.id:
            self._violate(
                f"doubled: {self._open[trial_id]} and {after.id} of trial {trial_id} are open"
            )

    def _check_event(self, key: tuple[str, str, str], row: Row) -> None:
        if key[0] != "experiment" or '"trial_ended"' not in row["event"]:
            return
        event = _CODECS["experiment"].event(row["event"])
        if isinstance(event, TrialEnded):
            end = (key[1], event.request_id)
            if end in self._ends:
                self._violate(f"doubled: the end of {event.request_id} of experiment {key[1]}")
            self._ends.add(end)


class MachineChecks:
    """Watches what really runs."""

    def __init__(self, violate: Callable[[str], None], tell: Callable[[str], None]) -> None:
        self._violate, self._tell = violate, tell
        self._begun: set[str] = set()
        self._on_slot: dict[tuple[str, int], str] = {}
        self.running: dict[str, str] = {}
        """Allocations of the containers that run."""

    def container_began(self, machine: Machine, container: Container) -> None:
        """A task's program runs."""
        allocation = container.start.spec.environment["ALLOCATION"]
        self._tell(f"{machine.name} runs {container.id[:8]} of {allocation} on {container.slots}")
        if container.id in self._begun:
            self._violate(f"doubled: container {container.id} of {allocation} began again")
        self._begun.add(container.id)
        for slot in container.slots:
            other = self._on_slot.get((machine.name, slot))
            if other is not None:
                self._violate(
                    f"leased twice: slot {slot} of {machine.name} runs {container.id} of "
                    f"{allocation} beside {other} of {self.running[other]}"
                )
            self._on_slot[machine.name, slot] = container.id
        self.running[container.id] = allocation

    def container_ended(self, machine: Machine, container: Container) -> None:
        """It runs no more."""
        code = container.exit.exit_code if container.exit else None
        self._tell(f"{machine.name} ended {container.id[:8]} with {code}")
        self.running.pop(container.id, None)
        for slot in container.slots:
            if self._on_slot.get((machine.name, slot)) == container.id:
                del self._on_slot[machine.name, slot]


def _held(allocation: Allocation | None) -> dict[tuple[str, int], str]:
    if allocation is None:
        return {}
    return {
        (c.agent_id, slot): c.id
        for c in allocation.containers
        if c.state != "TERMINATED"
        for slot in c.slot_ids
    }


def _tail(state: Any) -> str:
    if isinstance(state, Allocation):
        where = ",".join(f"{c.agent_id}{list(c.slot_ids)}" for c in state.containers)
        outcome = f" {state.outcome.kind}: {state.outcome.message}" if state.outcome else ""
        return f" slots={state.request.slots} job={state.request.job_id[:4]} {where}{outcome}"
    return f" {state.reason}" if state.reason else ""


@cache
def _is_legal(kind: str, before: str, after: str) -> bool:
    """Whether one event may lead there, by one step or more."""
    seen, todo = {before}, [before]
    while todo:
        for state in _NEXT[kind][todo.pop()]:
            if state == after:
                return True
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return False
