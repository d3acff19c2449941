"""The harness finds faults: it tells of a part of the program that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest
from tests.chaos.counts import kind_of
from tests.chaos.instants import Victim, kill_instants
from tests.chaos.run import Result, run_seed

from determined_master.domain.schedule.capacity import Capacity
from determined_master.domain.schedule.stages.victims import Victims
from determined_master.engine.effects.outbox import Outbox
from determined_master.pools.live import LiveAllocations
from determined_master.services.tasks.allocation_effects import AllocationEffects

Mutant = Callable[[], AbstractContextManager[Any]]


async def _nothing(*_: Any, **__: Any) -> None:
    """Done, and nothing happened."""


def _ignore(*_: Any, **__: Any) -> None:
    """The same without waiting."""


MUTANTS: dict[str, tuple[Mutant, str, Victim | None]] = {
    "a new lead forgets what was ordered": (
        lambda: patch.object(Outbox, "_claim", _nothing),
        "lost, left behind, other",
        "master",
    ),
    "a new lead does not look at what runs": (
        lambda: patch.object(LiveAllocations, "reconcile", _ignore),
        "lost, leased twice, left behind, other",
        "master",
    ),
    "the end of a container is not acknowledged": (
        lambda: patch.object(AllocationEffects, "forget_container", _nothing),
        "left behind",
        "agent",
    ),
    "equals ask each other to leave": (
        lambda: patch.object(Victims, "_skip", _ignore),
        "other",
        None,
    ),
    "who can never fit holds others back": (
        lambda: patch.object(Capacity, "could_hold", lambda *_: True),
        "lost, other",
        None,
    ),
}
"""By what is wrong: how, which kinds of violations may tell of it, and whose kills show it."""
_END_S = 900.0
_INSTANTS = 12
_SEEDS = 8


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str) -> None:
    mutant, kinds, victim = MUTANTS[name]
    with mutant():
        found = next((r for r in _results(victim) if r.violations), None)
    assert found is not None, "no history has shown it"
    assert {kind_of(text) for text in found.violations} <= set(kinds.split(", "))


def _results(victim: Victim | None) -> Iterator[Result]:
    if victim is not None:
        yield from (result for _, result in kill_instants(victim, _INSTANTS, end_s=_END_S))
    else:
        yield from (run_seed(seed, events=400, end_s=_END_S) for seed in range(_SEEDS))
