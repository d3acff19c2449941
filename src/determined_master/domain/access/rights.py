"""The permissions that a user has by their roles: everywhere, and in single workspaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from determined_master.domain.access.permissions import Permission
from determined_master.domain.access.roles import ROLES

NOTHING: frozenset[Permission] = frozenset()


class Grant(msgspec.Struct, frozen=True, order=True):
    """One role, in one workspace or (`workspace_id` 0) in the whole cluster."""

    role_id: int
    workspace_id: int = 0


class Rights(msgspec.Struct, frozen=True):
    """The permissions of a user and their scopes."""

    everywhere: frozenset[Permission] = NOTHING
    within: Mapping[int, frozenset[Permission]] = {}
    """By workspace, in addition to those that apply everywhere."""

    def holds(self, permission: Permission, workspace_id: int | None = None) -> bool:
        """Whether the user holds it in a workspace; without a workspace, in the whole cluster."""
        if permission in self.everywhere:
            return True
        return workspace_id is not None and permission in self.within.get(workspace_id, NOTHING)

    def holds_anywhere(self, permission: Permission) -> bool:
        """Whether the user holds it in any workspace or in the cluster."""
        return permission in self.everywhere or any(
            permission in held for held in self.within.values()
        )

    def workspaces(self, permission: Permission) -> frozenset[int] | None:
        """The workspaces in which the user holds it; None for all workspaces."""
        if permission in self.everywhere:
            return None
        return frozenset(i for i, held in self.within.items() if permission in held)


def rights_of(grants: Iterable[Grant]) -> Rights:
    """The sum of the permissions of all grants. A role that this version does not know adds none.

    Permissions of the cluster count only where a role is given in the whole cluster.
    """
    everywhere: frozenset[Permission] = NOTHING
    within: dict[int, frozenset[Permission]] = {}
    for grant in grants:
        role = ROLES.get(grant.role_id)
        if role is None:
            continue
        if grant.workspace_id:
            held = frozenset(p for p in role.permissions if not p.is_of_cluster)
            within[grant.workspace_id] = within.get(grant.workspace_id, NOTHING) | held
        else:
            everywhere |= role.permissions
    return Rights(everywhere, within)
