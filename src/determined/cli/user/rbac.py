"""`det rbac`: roles and their assignments."""

from __future__ import annotations

import argparse
from typing import Any, Dict, Iterator, List, Tuple

from determined.cli import connect, errors, pagination
from determined.cli.declare import Command, arg, flag
from determined.cli.output import full_json, show
from determined.cli.user import user_group
from determined.cli.workspace import lookup
from determined.common.api import BaseSession

_HERE = "determined.cli.user.rbac"
_JSON = flag("--json", help="print as JSON")
_ROLE = arg("role_name", help="name of the role")
_WHOM = (
    _ROLE,
    arg("-w", "--workspace-name", help="workspace of the assignment (default: the whole cluster)"),
    arg("-u", "--username-to-assign", help="user to assign it to"),
    arg("-g", "--group-name-to-assign", help="group to assign it to"),
)
EVERYWHERE = "the whole cluster"
MAX_PAGE = 500
Answer = Dict[str, Any]

NOUN = Command(
    "rbac",
    "manage roles and their permissions",
    commands=(
        Command("assign-role", "assign a role", f"{_HERE}:assign_role", _WHOM),
        Command(
            "describe-role",
            "describe a role and its assignments",
            f"{_HERE}:describe_role",
            (_ROLE, _JSON),
        ),
        Command(
            "list-groups-roles",
            "list the roles of a group",
            f"{_HERE}:list_groups_roles",
            (arg("group_name", help="name of the group"), _JSON),
        ),
        Command(
            "list-roles",
            "list roles",
            f"{_HERE}:list_roles",
            (
                flag(
                    "--exclude-global-roles",
                    help="omit roles that cannot be assigned in a single workspace",
                ),
                _JSON,
                *pagination.arguments(200),
            ),
            is_default=True,
        ),
        Command(
            "list-users-roles",
            "list the roles of a user",
            f"{_HERE}:list_users_roles",
            (arg("username", help="name of the user"), _JSON),
        ),
        Command("my-permissions", "list my permissions", f"{_HERE}:my_permissions", (_JSON,)),
        Command(
            "unassign-role", "remove the assignment of a role", f"{_HERE}:unassign_role", _WHOM
        ),
    ),
)


def list_roles(args: argparse.Namespace) -> None:
    session = connect.session(args)
    body = {"limit": args.limit, "offset": args.offset or 0}
    path = "/api/v1/roles/search"
    if args.exclude_global_roles:
        path, body["workspaceId"] = "/api/v1/roles/search/by-assignability", 1
    answer = user_group.search(session, path, "roles", body, args.pages)
    if args.json:
        show.as_json(answer)
        return
    rows = [
        [
            role["roleId"],
            role["name"],
            role["scopeTypeMask"]["workspace"],
            len(role["permissions"]),
        ]
        for role in answer["roles"]
    ]
    show.table(("Role ID", "Role Name", "In Workspaces", "# Permissions"), rows)


def describe_role(args: argparse.Namespace) -> None:
    """Print a role, its permissions and its assignments."""
    session = connect.session(args)
    body = {"roleIds": [_role(session, args.role_name)["roleId"]]}
    [entry] = session.post("/api/v1/roles/search/by-ids", json=body).json()["roles"]
    if args.json:
        show.as_json(entry)
        return
    role, names = entry["role"], _NameLookup(session)
    print(f"Role ID: {role['roleId']}\nRole Name: {role['name']}\n")
    show.table(("Permission", "In Workspaces"), _permissions(role))
    print()
    rows = []
    for kind, name, where in names.of(entry):
        rows.append([kind, name, where])
    show.table(("Kind", "Name", "Where"), rows)


def list_users_roles(args: argparse.Namespace) -> None:
    """Print the roles of a user, also those of the user's groups."""
    session = connect.session(args)
    number = user_group.user_id(session, args.username)
    entries = session.get(f"/api/v1/roles/search/by-user/{number}").json()["roles"]
    if args.json:
        show.as_json({"roles": entries})
        return
    names = _NameLookup(session)
    rows = []
    for one in entries:
        for kind, name, where in names.of(one):
            rows.append([one["role"]["name"], where, "" if kind == "user" else name])
    show.table(("Role Name", "Where", "By Group"), rows)


def list_groups_roles(args: argparse.Namespace) -> None:
    session = connect.session(args)
    number = user_group.group_id(session, args.group_name)
    answer = session.get(f"/api/v1/roles/search/by-group/{number}").json()
    if args.json:
        show.as_json(answer)
        return
    show.table(("Role Name", "Where"), _summary(session, answer))


def my_permissions(args: argparse.Namespace) -> None:
    """Print the caller's roles and permissions."""
    session = connect.session(args)
    answer = session.get("/api/v1/permissions/summary").json()
    if args.json:
        show.as_json(answer)
        return
    if not session.get("/api/v1/master").json()["rbacEnabled"]:
        print("Roles have no effect on this cluster (security.authz.type is basic).")
    show.table(("Role Name", "Where"), _summary(session, answer))
    for role in answer["roles"]:
        print(f"\n{role['name']}")
        show.table(("Permission", "In Workspaces"), _permissions(role))


def assign_role(args: argparse.Namespace) -> None:
    print(f"Assigned role {_change(args, 'add-assignments')}")


def unassign_role(args: argparse.Namespace) -> None:
    print(f"Removed role {_change(args, 'remove-assignments')}")


def list_members(args: argparse.Namespace) -> None:
    """Print the users and groups with a role in a workspace."""
    session = connect.session(args)
    number = lookup.workspace(session, args.workspace_name)["id"]
    answer = session.get(f"/api/v1/roles/workspace/{number}").json()
    if args.json or args.yaml:
        document = full_json.completed("GetGroupsAndUsersAssignedToWorkspaceResponse", answer)
        (show.as_json if args.json else show.as_yaml)(document)
        return
    users = {user["id"]: user["username"] for user in answer["usersAssignedDirectly"]}
    groups = {group["groupId"]: group["name"] for group in answer["groups"]}
    rows = []
    for one in answer["assignments"]:
        name = one["role"]["name"]
        rows += [[groups[g["groupId"]], "G", name] for g in one["groupRoleAssignments"]]
        rows += [[users[u["userId"]], "U", name] for u in one["userRoleAssignments"]]
    show.table(("User/Group Name", "User/Group", "Role Name"), rows, as_csv=args.csv)


class _NameLookup:
    """Names of users, groups and workspaces by ID; the ID itself if the name is not visible."""

    def __init__(self, session: BaseSession) -> None:
        users = session.get("/api/v1/users").json()["users"]
        body = {"limit": MAX_PAGE}
        path = "/api/v1/groups/search"
        groups = user_group.search(session, path, "groups", body, "all")["groups"]
        self._users = {user["id"]: user["username"] for user in users}
        self._groups = {one["group"]["groupId"]: one["group"]["name"] for one in groups}
        self._workspaces = workspace_names(session)

    def of(self, entry: Answer) -> Iterator[Tuple[str, str, str]]:
        """Kind, name and scope of each assignment."""
        for one in entry["userRoleAssignments"]:
            number = one["userId"]
            yield "user", self._users.get(number, str(number)), self._where(one)
        for one in entry["groupRoleAssignments"]:
            number = one["groupId"]
            yield "group", self._groups.get(number, str(number)), self._where(one)

    def _where(self, one: Answer) -> str:
        number = one["roleAssignment"].get("scopeWorkspaceId")
        return EVERYWHERE if not number else self._workspaces.get(number, f"workspace {number}")


def workspace_names(session: BaseSession) -> Dict[int, str]:
    """Names of the visible workspaces by ID."""
    workspaces = session.get("/api/v1/workspaces").json()["workspaces"]
    return {item["id"]: item["name"] for item in workspaces}


def _summary(session: BaseSession, answer: Answer) -> List[List[str]]:
    """Each role with its scope."""
    names = {role["roleId"]: role["name"] for role in answer["roles"]}
    workspaces = workspace_names(session)
    rows = []
    for one in answer["assignments"]:
        if one["scopeCluster"]:
            rows.append([names[one["roleId"]], EVERYWHERE])
        for number in one["scopeWorkspaceIds"]:
            rows.append([names[one["roleId"]], workspaces.get(number, f"workspace {number}")])
    return rows


def _permissions(role: Answer) -> List[List[Any]]:
    return [[p["name"], p["scopeTypeMask"]["workspace"]] for p in role["permissions"]]


def _role(session: BaseSession, name: str) -> Answer:
    path, body = "/api/v1/roles/search", {"limit": MAX_PAGE}
    roles = session.post(path, json=body).json()["roles"]
    for role in roles:
        if role["name"].lower() == name.lower():
            chosen: Answer = role
            return chosen
    there = ", ".join(role["name"] for role in roles)
    raise errors.CliError(f"there is no role '{name}'; there are: {there}")


def _change(args: argparse.Namespace, action: str) -> str:
    """Add or remove an assignment, and return its description."""
    if bool(args.username_to_assign) == bool(args.group_name_to_assign):
        raise errors.CliError("give either --username-to-assign or --group-name-to-assign")
    session = connect.session(args)
    role, where = _role(session, args.role_name), EVERYWHERE
    scope: Answer = {"role": {"roleId": role["roleId"]}, "scopeCluster": True}
    if args.workspace_name:
        number = lookup.workspace(session, args.workspace_name)["id"]
        scope.update(scopeCluster=False, scopeWorkspaceId=number)
        where = f"workspace {args.workspace_name}"
    if args.username_to_assign:
        assignee = f"user {args.username_to_assign}"
        one = {"userId": user_group.user_id(session, args.username_to_assign)}
        body = {"userRoleAssignments": [{**one, "roleAssignment": scope}]}
    else:
        assignee = f"group {args.group_name_to_assign}"
        one = {"groupId": user_group.group_id(session, args.group_name_to_assign)}
        body = {"groupRoleAssignments": [{**one, "roleAssignment": scope}]}
    session.post(f"/api/v1/roles/{action}", json=body)
    return f"{role['name']} in {where}: {assignee}"
