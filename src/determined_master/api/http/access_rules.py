"""What a route needs where roles decide: how it is written down, and how it is asked.

Every route has an entry in `access_table.py`; one without is for admins alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from determined_master.api.http.allowlist import values_at
from determined_master.domain.access.rules import Action, ThingKind
from determined_master.services.access.guard import Claim
from determined_master.store.workspaces.places import Thing

Open = Literal["open", "asks", "filters"]
"""`open`: everybody who has signed in may, and nothing of a workspace is told. `asks`: the
service asks for a permission, of the cluster or of the one place that it knows. `filters`: a
list, from which the service leaves out what its caller may not see."""


class Need(msgspec.Struct, frozen=True):
    """A field of the request that names things, and what is done with them."""

    thing: Thing
    field: str
    """Dotted, through lists too; of a plain route the parameter of its path."""
    action: Action = "read"
    kind: ThingKind | None = None
    is_optional: bool = False
    """Whether 0, the empty text or nothing at all names nothing."""
    may_be_missing: bool = False


Rule = Open | tuple[Need, ...]
Entries = Mapping[tuple[str, str], Rule]


def on(thing: Thing, field: str, action: Action = "read", kind: ThingKind | None = None) -> Need:
    """The request names this; without a kind, it only must be seen."""
    return Need(thing, field, action, kind)


def maybe(
    thing: Thing, field: str, action: Action = "read", kind: ThingKind | None = None
) -> Need:
    """The request may name this."""
    return Need(thing, field, action, kind, is_optional=True)


def claims_of(needs: Sequence[Need], request: Any, parameters: Mapping[str, str]) -> list[Claim]:
    """What a request names; `request` is None for plain routes, which have only parameters."""
    found = []
    for need in needs:
        given = values_at(request, need.field) if request is not None else [parameters[need.field]]
        names = [str(value) for value in given if not need.is_optional or value]
        if names:
            claim = Claim(
                need.thing,
                list(dict.fromkeys(names)),
                need.action,
                need.kind,
                need.may_be_missing,
            )
            found.append(claim)
    return found
