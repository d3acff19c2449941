"""The page of permissions: what each role holds, and what each action needs."""

from __future__ import annotations

from collections.abc import Iterable

from determined_master.domain.access.needs import NEEDS, NEEDS_OF_OTHERS
from determined_master.domain.access.permissions import Permission
from determined_master.domain.access.roles import ROLES
from determined_master.domain.access.rules import ADMIN_ONLY, CLOSED_TO_TASKS, OWNER_ONLY

HEAD = """\
# Permissions

Made by `tools/generate_docs.py` from the tables of `domain/access`; do not edit.
[Access control](../access-control.md) explains roles and how to assign them.

## Permissions of the roles
A role has the permissions marked `x`. *Scope*: `cluster` permissions are held in the whole cluster
only, `workspace` permissions also in one workspace.
"""
NEEDED = """
## Permissions that actions need
This table applies with `security.authz.type: rbac`. One of the named permissions is enough.
Users with the admin flag may do everything. Only they may take actions that are not listed.

| action | thing | needs |
|---|---|---|
"""
OTHERS = """
If the thing belongs to another user, the action needs this instead:

| action | thing | needs |
|---|---|---|
"""
BASIC = """
## Actions without roles
This table applies with `security.authz.type: basic`. Every user may take actions that are not
listed.

| action | thing | who may |
|---|---|---|
"""
TASKS = """
## Actions that code in a task may not take
A token with which code in a task acts as its user refuses these, also if the user is an admin.

| action | thing |
|---|---|
"""


def permissions_page() -> str:
    """The whole page."""
    roles = [ROLES[number] for number in sorted(ROLES)]
    names = "".join(f" {role.name} |" for role in roles)
    lines = [f"\n| permission | number | scope |{names}", "|---|---|---|" + "---|" * len(roles)]
    for permission in sorted(Permission):
        scope = "cluster" if permission.is_of_cluster else "workspace"
        marks = "".join(" x |" if permission in role.permissions else " |" for role in roles)
        lines.append(f"| {permission.title} | {int(permission)} | {scope} |{marks}")
    basic = [(pair, "admins") for pair in ADMIN_ONLY]
    basic += [(pair, "the owner and admins") for pair in OWNER_ONLY]
    return "".join(
        (
            HEAD,
            *(f"{line}\n" for line in lines),
            NEEDED,
            *_rows((pair, _names(needed)) for pair, needed in NEEDS.items()),
            OTHERS,
            *_rows((pair, _names(needed)) for pair, needed in NEEDS_OF_OTHERS.items()),
            BASIC,
            *_rows(basic),
            TASKS,
            *(f"| {action} | {thing} |\n" for action, thing in sorted(CLOSED_TO_TASKS)),
        )
    )


def _names(needed: Iterable[Permission]) -> str:
    return " or ".join(sorted(permission.title for permission in needed)) or "nothing"


def _rows(rows: Iterable[tuple[tuple[str, str], str]]) -> list[str]:
    """By thing, then by action."""
    found = sorted((thing, action, said) for (action, thing), said in rows)
    return [f"| {action} | {thing} | {said} |\n" for thing, action, said in found]
