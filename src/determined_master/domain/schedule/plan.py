"""The decisions of a scheduler, with their reasons."""

from __future__ import annotations

import msgspec


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """Give a waiting allocation these slots."""

    allocation_id: str
    placement: tuple[tuple[str, tuple[int, ...]], ...]
    """Pairs of agent id and slot numbers, in the order of agent ids."""
    is_backfill: bool = False
    """A higher-priority request waits, which may preempt it."""
    is_long_awaited: bool = False


class Preempt(msgspec.Struct, frozen=True):
    """Preempt a running allocation."""

    allocation_id: str
    reason: str
    for_job: str = ""
    """The job that needs its slots; empty when its own job exceeds its share."""


class _Waiting(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag_field="code"):
    """Why an allocation waits; `reasons` formats it."""

    allocation_id: str

    @property
    def code(self) -> str:
        """The name of this reason in the API and in recorded plans."""
        return str(self.__struct_config__.tag)


class Full(_Waiting, frozen=True, gc=False, tag="full"):
    """The slots are in use."""


class Leaving(_Waiting, frozen=True, gc=False, tag="leaving"):
    """Slots of exiting tasks are reserved for it."""

    agents: tuple[str, ...] = ()
    """Where."""


class Draining(_Waiting, frozen=True, gc=False, tag="kept"):
    """Agents are drained for it, because others have passed it for too long."""

    agents: tuple[str, ...] = ()


class Behind(_Waiting, frozen=True, gc=False, tag="behind"):
    """A higher-priority request waits."""

    behind: str = ""
    """Its allocation."""


class OverLimit(_Waiting, frozen=True, gc=False, tag="limit"):
    """Its job uses its max_slots."""


class OverShare(_Waiting, frozen=True, gc=False, tag="share"):
    """Its job has its fair share."""


class Impossible(_Waiting, frozen=True, gc=False, tag="impossible"):
    """These agents could not hold it if they were empty."""


class LacksResources(_Waiting, frozen=True, gc=False, tag="resources"):
    """Nodes with free slots have too little memory, or another resource, for its pods."""

    detail: str = ""


class OverQuota(_Waiting, frozen=True, gc=False, tag="quota"):
    """The quota of its namespace is full."""

    detail: str = ""


class HandedOver(_Waiting, frozen=True, gc=False, tag="handed"):
    """As many pods as allowed wait in the cluster's own queue."""


class NoDomain(_Waiting, frozen=True, gc=False, tag="topology"):
    """No rack, zone or node can hold all of its pods."""

    detail: str = ""
    """Why, and the remedy."""


Wait = (
    Full
    | Leaving
    | Draining
    | Behind
    | OverLimit
    | OverShare
    | Impossible
    | LacksResources
    | OverQuota
    | HandedOver
    | NoDomain
)


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """All decisions on one view; waits are in the order of the queue."""

    starts: tuple[Start, ...] = ()
    preemptions: tuple[Preempt, ...] = ()
    waits: tuple[Wait, ...] = ()
