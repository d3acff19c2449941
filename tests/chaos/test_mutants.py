"""The harness finds faults: it tells of a part of the program that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest
from tests.chaos.counts import kind_of
from tests.chaos.run import run_seed

from determined_agent.supervisor import Supervisor
from determined_master.domain.allocation import ending
from determined_master.domain.schedule.line import Pass
from determined_master.domain.schedule.victims import Victims
from determined_master.engine.outbox import Outbox
from determined_master.pools.live import LiveAllocations
from determined_master.services.effects.allocations import AllocationEffects

Mutant = Callable[[], AbstractContextManager[Any]]


async def _nothing(*_: Any, **__: Any) -> None:
    """Done, and nothing happened."""


def _ignore(*_: Any, **__: Any) -> None:
    """The same without waiting."""


MUTANTS: dict[str, tuple[Mutant, str, int]] = {
    "a new lead forgets what was ordered": (
        lambda: patch.object(Outbox, "_claim", _nothing),
        "lost",
        0,
    ),
    "a new lead does not look at what runs": (
        lambda: patch.object(LiveAllocations, "reconcile", _ignore),
        "lost",
        0,
    ),
    "the end of a container is not acknowledged": (
        lambda: patch.object(AllocationEffects, "forget_container", _nothing),
        "left behind",
        0,
    ),
    "equals ask each other to leave": (
        lambda: patch.object(Victims, "_skip", _ignore),
        "other",
        0,
    ),
    "who can never fit holds others back": (
        lambda: patch.object(Pass, "is_possible", lambda *_: True),
        "lost",
        0,
    ),
    "an agent forgets containers that it found": (
        lambda: patch.object(Supervisor, "reports", lambda _: ()),
        "leased twice",
        0,
    ),
    "a kill is not repeated": (
        lambda: patch.object(ending, "_signals", lambda _: []),
        "lost",
        1,
    ),
}
"""By what is wrong: how, which kind of violation tells of it, and the seed that shows it."""


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str) -> None:
    mutant, kind, seed = MUTANTS[name]
    with mutant():
        result = run_seed(seed, events=700, end_s=1800.0)
    assert kind in {kind_of(text) for text in result.violations}, result.story
