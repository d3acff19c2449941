"""Base messages of everything that runs as allocations: trials, and tasks without an experiment.

Each kind stores its own subclass under its own tag.
"""

from __future__ import annotations

from determined_master.domain.allocation.messages import AllocationOutcome
from determined_master.domain.messages import Effect, Event, GivenUp


class RunOver(Event, frozen=True):
    """Its allocation has ended and the slots are back."""

    allocation_id: str
    outcome: AllocationOutcome


class RunOrder(Effect, frozen=True):
    """An order about its run, such as a pause or a kill."""

    allocation_id: str
    reason: str


class RunGivenUp(GivenUp, frozen=True):
    """An effect was given up after its last retry."""

    allocation_id: str = ""
    """The allocation that the effect was about."""
