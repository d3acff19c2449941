"""Slots and agents that an admin has disabled. Source: scheduling-and-provisioning b.6."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace


class Switches(msgspec.Struct, frozen=True):
    """An agent's switches; as made here, everything is on."""

    is_enabled: bool = True
    is_draining: bool = False
    """What runs there continues, nothing new starts."""
    disabled_slots: frozenset[int] = frozenset()
    draining_slots: frozenset[int] = frozenset()
    """Slots whose task continues and that nothing new is given; none of them is disabled."""


ALL_ON = Switches()


def disable_agent(switches: Switches, *, drain: bool) -> Switches:
    """Give the agent no more work; without `drain` what runs there is ended too."""
    return replace(switches, is_enabled=drain, is_draining=drain)


def enable_slot(switches: Switches, slot: int) -> Switches:
    """Let one slot take work again, as far as its agent does."""
    return replace(
        switches,
        disabled_slots=switches.disabled_slots - {slot},
        draining_slots=switches.draining_slots - {slot},
    )


def disable_slot(switches: Switches, slot: int, *, drain: bool) -> Switches:
    """Give one slot no more work; without `drain` what runs on it is ended too."""
    clear = enable_slot(switches, slot)
    if drain:
        return replace(clear, draining_slots=clear.draining_slots | {slot})
    return replace(clear, disabled_slots=clear.disabled_slots | {slot})


def reason_to_end(switches: Switches, slots: Iterable[int]) -> str | None:
    """Why a container on these slots of the agent may not continue; None when it may."""
    if not switches.is_enabled:
        return "agent disabled"
    return "slot disabled" if switches.disabled_slots.intersection(slots) else None
