"""Access to a route: the form of its declaration, and the check of a request against it.

    @route("GET", "/api/v1/projects/{id}", access=on("project", "id"))
    @route("POST", "/api/v1/task/logs", access=..., task=of_task("logs.task_id", "task_id"))

`access` holds where roles decide (`security.authz.type: rbac`). `task` says that the token of a
task may call the route, and what of the request must be of that task. `public="REASON"` needs no
token; with `knows_session=True` it gets the caller of a valid session all the same.
With `checks_token=True` it gets the caller of a token, and refuses an invalid one.
`in_task` says why code in a task may call the route with its user's token (`task_use.py`);
without it, the route is closed to such code.
`authenticates=True`: the function itself checks a credential that is no user's token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from determined_master.domain.access.rules import Action, TaskScope, ThingKind
from determined_master.records.access import Thing
from determined_master.services.access.guard import Claim
from determined_wire.proto import Message

SIGNED_IN: Literal["signed_in"] = "signed_in"
"""Every signed-in user may call it; it shows nothing of a workspace."""
IN_SERVICE: Literal["in_service"] = "in_service"
"""The service checks a permission, of the cluster or of a place that only it knows."""
FILTERED: Literal["filtered"] = "filtered"
"""A list: the service leaves out what its caller may not see."""

ALL = -1
"""In place of a project's id: all projects."""


class Need(msgspec.Struct, frozen=True):
    """A field of the request that names things, and the caller's action on them."""

    thing: Thing
    field: str
    """Dotted, through lists too; of a plain route the parameter of its path."""
    action: Action = "read"
    kind: ThingKind | None = None
    is_optional: bool = False
    """Whether 0, the empty text or nothing at all names nothing."""
    may_be_missing: bool = False
    stands_for_all: int | None = None
    """The number that names all things; the service checks each of them."""
    is_late: bool = False
    """The service checks the action, after a condition that refuses every caller; whoever does not
    see the thing is refused before."""


Rule = Literal["signed_in", "in_service", "filtered"] | tuple[Need, ...]
"""The permissions that a route needs with roles."""
TaskRule = tuple[tuple[str, str], ...]
"""Pairs: a field of the request (dotted, through lists too), an attribute of `TaskScope`."""


def on(thing: Thing, field: str, action: Action = "read", kind: ThingKind | None = None) -> Need:
    """The request names this; without a kind, the caller only must see it."""
    return Need(thing, field, action, kind)


def on_late(thing: Thing, field: str, action: Action, kind: ThingKind) -> Need:
    """The request names this; a condition of the service comes before the right."""
    return Need(thing, field, action, kind, is_late=True)


def maybe(
    thing: Thing, field: str, action: Action = "read", kind: ThingKind | None = None
) -> Need:
    """The request may name this."""
    return Need(thing, field, action, kind, is_optional=True)


def on_any(thing: Thing, field: str, action: Action, kind: ThingKind) -> Need:
    """The request names this, or by -1 all that the caller sees."""
    return Need(thing, field, action, kind, stands_for_all=ALL)


def upsert(thing: Thing, field: str, action: Action, kind: ThingKind) -> Need:
    """The request names this, or a name under which nothing exists yet."""
    return Need(thing, field, action, kind, may_be_missing=True)


def of_task(field: str = "", attribute: str = "") -> TaskRule:
    """A task may call it when `field` names the task's own; without a field, always.

    Args:
        field: of the request.
        attribute: of `TaskScope`; like the field unless given.
    """
    return ((field, attribute or field),) if field else ()


def rule_of(access: Rule | Need) -> Rule:
    """The rule that a declaration means: a single need stands for a tuple of one."""
    return (access,) if isinstance(access, Need) else access


def claims_of(needs: Sequence[Need], request: Any, parameters: Mapping[str, str]) -> list[Claim]:
    """The things that a request names; `request` is None for plain routes: only parameters."""
    found = []
    for need in needs:
        given = (
            _values_at(request, need.field) if request is not None else [parameters[need.field]]
        )
        names = [
            str(value)
            for value in given
            if (value or not need.is_optional) and (value != need.stands_for_all or value is None)
        ]
        if names:
            claim = Claim(
                need.thing,
                list(dict.fromkeys(names)),
                "read" if need.is_late else need.action,
                None if need.is_late else need.kind,
                need.may_be_missing,
            )
            found.append(claim)
    return found


def find_foreign(rule: TaskRule, scope: TaskScope, request: Message) -> tuple[str, str] | None:
    """Kind and name of the first thing in a task's request that is not of that task."""
    for field, attribute in rule:
        expected = getattr(scope, attribute)
        for value in _values_at(request, field):
            if value is None or value != expected:
                return attribute.removesuffix("_id"), str(value)
    return None


def _values_at(request: Message, field: str) -> list[Any]:
    """The values at a dotted name of a request, of all members of the lists on the way."""
    return _values([request], field.split("."))


def _values(messages: Iterable[Any], names: list[str]) -> list[Any]:
    found: list[Any] = []
    for message in messages:
        value = None if message is None else getattr(message, names[0])
        found += value if isinstance(value, list | tuple) else [value]
    return _values(found, names[1:]) if len(names) > 1 else found
