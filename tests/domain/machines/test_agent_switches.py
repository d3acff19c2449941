"""What may continue on an agent of which something is switched off."""

from __future__ import annotations

import pytest

from determined_master.domain.machines.agent_switches import (
    ALL_ON,
    Switches,
    disable_agent,
    disable_slot,
    enable_slot,
    reason_to_end,
)


@pytest.mark.parametrize(
    ("switches", "reason"),
    [
        (ALL_ON, None),
        (disable_agent(ALL_ON, drain=True), None),
        (disable_agent(ALL_ON, drain=False), "agent disabled"),
        (disable_slot(ALL_ON, 1, drain=True), None),
        (disable_slot(ALL_ON, 1, drain=False), "slot disabled"),
        (disable_slot(ALL_ON, 2, drain=False), None),
    ],
)
def test_only_what_is_disabled_without_draining_ends_what_runs_there(
    switches: Switches, reason: str | None
) -> None:
    assert reason_to_end(switches, (0, 1)) == reason


def test_a_task_without_slots_ends_with_its_agent_and_not_with_a_slot() -> None:
    assert reason_to_end(disable_agent(ALL_ON, drain=False), ()) == "agent disabled"
    assert reason_to_end(disable_slot(ALL_ON, 0, drain=False), ()) is None


def test_a_slot_is_either_disabled_or_draining_and_comes_back_whole() -> None:
    drained = disable_slot(disable_slot(ALL_ON, 1, drain=False), 1, drain=True)
    assert (drained.disabled_slots, drained.draining_slots) == (frozenset(), {1})
    disabled = disable_slot(drained, 1, drain=False)
    assert (disabled.disabled_slots, disabled.draining_slots) == ({1}, frozenset())
    assert enable_slot(disabled, 1) == ALL_ON


def test_draining_an_agent_that_was_disabled_keeps_it_from_new_work() -> None:
    drained = disable_agent(disable_agent(ALL_ON, drain=False), drain=True)
    assert drained.is_draining
    assert drained.is_enabled
