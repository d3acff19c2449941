"""The harness finds faults: with a part of the program broken on purpose it tells of a violation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest
from tests.chaos.counts import kind_of
from tests.chaos.run import Result, run_seed

from determined_agent.streams import Inbox
from determined_agent.supervisor import Supervisor
from determined_master.domain.allocation import ending
from determined_master.domain.schedule.line import Pass
from determined_master.domain.schedule.victims import Victims
from determined_master.engine.batch import Writes
from determined_master.engine.outbox import Outbox
from determined_master.engine.timers import Timers
from determined_master.pools.live import LiveAllocations
from determined_master.services.agents import AgentReports
from determined_master.services.effects.allocations import AllocationEffects

Mutant = Callable[[], AbstractContextManager[Any]]


async def _nothing(*_: Any, **__: Any) -> None:
    """Done, and nothing happened."""


def _ignore(*_: Any, **__: Any) -> None:
    """The same without waiting."""


MUTANTS: dict[str, tuple[Mutant, str]] = {
    "a new lead forgets what was ordered": (
        lambda: patch.object(Outbox, "_claim", _nothing),
        "left behind lost other",
    ),
    "a new lead does not look at what runs": (
        lambda: patch.object(LiveAllocations, "reconcile", _ignore),
        "leased twice lost left behind",
    ),
    "effects are never closed": (
        lambda: patch.object(Writes, "close", _ignore),
        "left behind other lost",
    ),
    "an agent obeys what it has obeyed before": (
        lambda: patch.multiple(Inbox, is_new=lambda *_: True),
        "doubled other",
    ),
    "the end of a container is not acknowledged": (
        lambda: patch.object(AllocationEffects, "forget_container", _nothing),
        "left behind",
    ),
    "a lost agent is not told of": (
        lambda: patch.object(AgentReports, "agent_lost", _nothing),
        "lost left behind",
    ),
    "who asks to leave is not heard in time": (
        lambda: patch.object(Timers, "note", _ignore),
        "lost",
    ),
    "equals ask each other to leave": (
        lambda: patch.object(Victims, "_skip", _ignore),
        "other",
    ),
    "who can never fit holds others back": (
        lambda: patch.object(Pass, "is_possible", lambda *_: True),
        "other",
    ),
    "an agent forgets containers that it found": (
        lambda: patch.object(Supervisor, "reports", lambda _: ()),
        "lost doubled other left behind",
    ),
    "a kill is not repeated": (
        lambda: patch.object(ending, "_signals", lambda _: []),
        "lost left behind",
    ),
}
SEEDS = range(6)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str) -> None:
    mutant, kinds = MUTANTS[name]
    found: list[Result] = []
    for seed in SEEDS:
        with mutant():
            result = run_seed(seed, events=800)
        if result.violations:
            found.append(result)
            break
    assert found, f"{len(SEEDS)} histories have not shown that {name}"
    assert {kind_of(text) for text in found[0].violations} <= set(_split(kinds))


def _split(kinds: str) -> list[str]:
    from tests.chaos.counts import KINDS

    return [kind for kind in KINDS if kind in kinds]
