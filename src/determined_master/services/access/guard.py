"""With roles: whether a caller sees the things in a request, and may do its action.

One check before each request is handled, for every route: a hidden thing gets the same error as a
missing one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.access.rights import rights_of
from determined_master.domain.access.roles import CLUSTER_ADMIN_ID
from determined_master.domain.access.rules import Action, ThingKind
from determined_master.domain.errors import NotFound, PermissionDenied, RoleMissing
from determined_master.records.access import INTERACTIVE_WORDS, Thing
from determined_master.store.access.roles import list_grants
from determined_master.store.workspaces.owners import find_workspace_name, find_workspaces

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.experiments import ExperimentRow
    from determined_master.store.db import Database

FIRST_WORKSPACE_ID = 1
HINT = "it does not exist, or no role of yours shows it"

_SEEN: Mapping[Thing, tuple[ThingKind, str]] = {
    "workspace": ("workspace", "workspace '{}' not found"),
    "project": ("project", "project '{}' not found"),
    "project_key": ("project", "project '{}' not found"),
    "experiment": ("experiment", "experiment '{}' not found"),
    "external_experiment": ("experiment", "experiment with external id '{}' not found"),
    "trial": ("experiment", "trial '{}' not found"),
    "checkpoint": ("experiment", "checkpoint '{}' not found"),
    "task": ("task", "task '{}' not found"),
    "allocation": ("task", "allocation '{}' not found"),
    **{word: ("task", f"{word} '{{}}' not found") for word in INTERACTIVE_WORDS},
    "job": ("task", "job {} not found"),
    "template": ("template", "template '{}' not found"),
    "webhook": ("webhook", "webhook '{}' not found"),
    "model": ("model", 'model "{}" not found'),
}
"""The kind that must be readable to see a thing, and the error when it is not."""


class Claim(msgspec.Struct, frozen=True):
    """Things that a request names, and its action on them."""

    thing: Thing
    names: Sequence[str]
    action: Action = "read"
    kind: ThingKind | None = None
    """The kind that the action concerns; None for seeing the thing itself."""
    may_be_missing: bool = False
    """Whether the guard ignores a thing that is not there."""


class Guard:
    """Looks up the workspaces of what requests name."""

    def __init__(self, db: Database, *, has_roles: bool = False) -> None:
        self._db = db
        self._has_roles = has_roles

    async def as_owner(self, caller: Caller) -> Caller:
        """The caller; for a task's token its owner, with the rights of the owner's roles.

        The routes of a task's own things need no role. Other things that code in a task names
        must be visible to the owner.
        """
        if caller.scope is None or not self._has_roles:
            return caller
        async with self._db.acquire() as conn:
            grants = await list_grants(conn, caller.user_id)
        is_admin = caller.is_admin or any(
            g.role_id == CLUSTER_ADMIN_ID and not g.workspace_id for g in grants
        )
        return msgspec.structs.replace(
            caller, scope=None, rights=rights_of(grants), is_admin=is_admin
        )

    async def seen(self, caller: Caller, thing: Thing, names: Sequence[str]) -> set[str]:
        """Those of these things that the caller sees."""
        kind, _ = _SEEN[thing]
        if access.visible(caller, kind) is None:
            return set(names)
        async with self._db.acquire() as conn:
            found = await find_workspaces(conn, thing, names)
        return {n for n, i in found.items() if access.can(caller, "read", kind, workspace_id=i)}

    async def can(self, caller: Caller, claim: Claim) -> bool:
        """Whether `check` would do nothing."""
        if caller.rights is None or caller.is_admin:
            return True
        try:
            await self.check(caller, [claim])
        except (NotFound, PermissionDenied):
            return False
        return True

    async def check(self, caller: Caller, claims: Sequence[Claim]) -> None:
        """Do nothing when the caller may do all of this.

        Raises:
            NotFound: one of the things is not there, or the caller may not see it.
            PermissionDenied: the caller sees it, and may not do that with it.
        """
        try:
            async with self._db.acquire() as conn:
                for claim in claims:
                    found = await find_workspaces(conn, claim.thing, claim.names)
                    for name in claim.names:
                        if name in found or not claim.may_be_missing:
                            _check(caller, claim, name, found.get(name))
        except RoleMissing as refusal:
            raise await self.with_name(caller, refusal) from None

    async def with_name(self, caller: Caller, refusal: RoleMissing) -> PermissionDenied:
        """The refusal with the name of its workspace in place of its id.

        The first workspace's name is known to all; another one must be visible to the caller.
        """
        workspace_id = refusal.workspace_id
        if not workspace_id or not (
            workspace_id == FIRST_WORKSPACE_ID
            or access.can(caller, "read", "workspace", workspace_id=workspace_id)
        ):
            return refusal
        async with self._db.acquire() as conn:
            name = await find_workspace_name(conn, workspace_id)
        here = f" in workspace {workspace_id}"
        if name is None or not refusal.text.endswith(here):
            return refusal
        return PermissionDenied(f"{refusal.text.removesuffix(here)} in workspace '{name}'")


def _check(caller: Caller, claim: Claim, name: str, workspace_id: int | None) -> None:
    kind, text = _SEEN[claim.thing]
    missing = f"{text.format(name)}: {HINT}"
    if workspace_id is None:
        raise NotFound(missing)
    access.may_see(caller, kind, workspace_id, missing)
    if claim.kind is not None:
        access.may(caller, claim.action, claim.kind, workspace_id=workspace_id)


def controlled(caller: Caller, row: ExperimentRow | None, experiment_id: int) -> ExperimentRow:
    """The row of that id as it was read, if the caller may change it.

    Raises:
        NotFound: there is none, or the caller may not know of it. PermissionDenied.
    """
    if row is None:
        raise NotFound(f"experiment '{experiment_id}' not found")
    access.may_control(caller, "experiment", row)
    return row
