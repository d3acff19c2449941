"""Rows of a search: rung entries, bracket members, and how trials ended for the search."""

from __future__ import annotations

from typing import Literal

from determined_master.domain.messages import Record

TrialEnd = Literal["clean", "errored", "user_canceled", "invalid_hp"]
"""How a trial ended, as the search sees it."""


class RungEntry(Record, frozen=True, tag="rung_entry"):
    """One metric of one trial in one rung of one bracket of a halving search.

    A trial has at most one entry per rung. `metric` has the sign that makes smaller better and is
    never NaN; infinities are possible. `stopped` means that the trial goes no further than this
    rung. `seq` counts the entries of a search from 0; a memory rebuilt from the rows does not
    depend on their order.
    """

    bracket: int
    rung: int
    request_id: str
    metric: float
    stopped: bool = False
    seq: int = 0


MemberState = Literal["open", "closed", "invalid"]
"""`closed`: ended by itself, no longer judged. `invalid`: counts as if it had never existed."""


class BracketMember(Record, frozen=True, tag="bracket_member"):
    """A trial of a halving search and its bracket.

    A later record of the same trial replaces the earlier one (insert or update).
    """

    bracket: int
    request_id: str
    state: MemberState = "open"


SearchRecord = RungEntry | BracketMember
