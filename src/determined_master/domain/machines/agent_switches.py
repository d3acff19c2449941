"""Slots and agents that an admin has disabled. Source: scheduling-and-provisioning b.6."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace


class Switches(msgspec.Struct, frozen=True):
    """The switches of an agent; everything is on by default."""

    is_enabled: bool = True
    is_draining: bool = False
    """Running containers continue; nothing new starts."""
    disabled_slots: frozenset[int] = frozenset()
    draining_slots: frozenset[int] = frozenset()
    """Slots whose task continues and that get no new one; none of them is disabled."""


ALL_ON = Switches()


def disable_agent(switches: Switches, *, drain: bool) -> Switches:
    """Disable an agent; without `drain` its running containers end too."""
    return replace(switches, is_enabled=drain, is_draining=drain)


def enable_slot(switches: Switches, slot: int) -> Switches:
    """Enable one slot, as far as its agent is enabled."""
    return replace(
        switches,
        disabled_slots=switches.disabled_slots - {slot},
        draining_slots=switches.draining_slots - {slot},
    )


def disable_slot(switches: Switches, slot: int, *, drain: bool) -> Switches:
    """Disable one slot; without `drain` the container on it ends too."""
    clear = enable_slot(switches, slot)
    if drain:
        return replace(clear, draining_slots=clear.draining_slots | {slot})
    return replace(clear, disabled_slots=clear.disabled_slots | {slot})


def reason_to_end(switches: Switches, slots: Iterable[int]) -> str | None:
    """Why a container on these slots of the agent must end; None when it may continue."""
    if not switches.is_enabled:
        return "agent disabled"
    return "slot disabled" if switches.disabled_slots.intersection(slots) else None
