"""`det user-group`: groups of users."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined.cli import connect, errors, pagination
from determined.cli.arguments import YES, confirm
from determined.cli.declare import Command, arg, flag
from determined.cli.output import full_json, show
from determined.cli.user import edit
from determined.common.api import BaseSession

_HERE = "determined.cli.user.user_group"
_JSON = flag("--json", help="print as JSON")
_GROUP = arg("group_name", help="name of user group")
_USERNAMES = arg(
    "usernames",
    type=lambda text: [n for n in text.split(",") if n],
    help="comma-separated usernames",
)

NOUN = Command(
    "user-group",
    "manage user groups",
    commands=(
        Command("add-user", "add users to a group", f"{_HERE}:add_users", (_GROUP, _USERNAMES)),
        Command(
            "change-name",
            "change the name of a group",
            f"{_HERE}:change_name",
            (
                arg("old_group_name", help="current name of the group"),
                arg("new_group_name", help="new name of the group"),
            ),
        ),
        Command(
            "create",
            "create a user group",
            f"{_HERE}:create",
            (_GROUP, arg("--add-user", action="append", help="user to add; may be repeated")),
        ),
        Command("delete", "delete a user group", f"{_HERE}:delete", (_GROUP, YES)),
        Command("describe", "describe a user group", f"{_HERE}:describe", (_GROUP, _JSON)),
        Command(
            "list|ls",
            "list user groups",
            f"{_HERE}:list_groups",
            (
                *pagination.arguments(200),
                arg("--groups-user-belongs-to", help="only the groups of this user"),
                _JSON,
            ),
            is_default=True,
        ),
        Command(
            "remove-user",
            "remove users from a group",
            f"{_HERE}:remove_users",
            (_GROUP, _USERNAMES),
        ),
    ),
)


def list_groups(args: argparse.Namespace) -> None:
    session = connect.session(args)
    body: Dict[str, Any] = {"limit": args.limit, "offset": args.offset or 0}
    if args.groups_user_belongs_to is not None:
        body["userId"] = user_id(session, args.groups_user_belongs_to)
    answer = search(session, "/api/v1/groups/search", "groups", body, args.pages)
    if args.json:
        show.as_json(answer)
        return
    groups = answer["groups"]
    rows = [[g["group"]["groupId"], g["group"]["name"], g["numMembers"]] for g in groups]
    show.table(("Group ID", "Group Name", "# Users"), rows)


def describe(args: argparse.Namespace) -> None:
    session = connect.session(args)
    group = session.get(f"/api/v1/groups/{group_id(session, args.group_name)}").json()["group"]
    if args.json:
        show.as_json(full_json.completed("GroupDetails", group))
        return
    print(f"Group ID: {group['groupId']}\nGroup Name: {group['name']}\n")
    rows = [[user["id"], user["username"], user["active"]] for user in group["users"]]
    show.table(("User ID", "Username", "Active"), rows)


def create(args: argparse.Namespace) -> None:
    session = connect.session(args)
    body = {"name": args.group_name, "addUsers": _user_ids(session, args.add_user or [])}
    group = session.post("/api/v1/groups", json=body).json()["group"]
    names = ", ".join(user["username"] for user in group["users"])
    print(f"Created user group {group['name']} with ID {group['groupId']}")
    if names:
        print(f"Users: {names}")


def add_users(args: argparse.Namespace) -> None:
    session = connect.session(args)
    _change(session, args.group_name, {"addUsers": _user_ids(session, args.usernames)})
    print(f"Added {', '.join(args.usernames)} to user group {args.group_name}")


def remove_users(args: argparse.Namespace) -> None:
    session = connect.session(args)
    _change(session, args.group_name, {"removeUsers": _user_ids(session, args.usernames)})
    print(f"Removed {', '.join(args.usernames)} from user group {args.group_name}")


def change_name(args: argparse.Namespace) -> None:
    _change(connect.session(args), args.old_group_name, {"name": args.new_group_name})
    print(f"Renamed user group {args.old_group_name} to {args.new_group_name}")


def delete(args: argparse.Namespace) -> None:
    """Delete a group with its role assignments."""
    session = connect.session(args)
    number = group_id(session, args.group_name)
    confirm(
        args,
        f"Deleting user group {args.group_name} removes its roles from its users. "
        "Do you still want to proceed?",
    )
    session.delete(f"/api/v1/groups/{number}")
    print(f"Deleted user group {args.group_name}")


def group_id(session: BaseSession, name: str) -> int:
    """The id of the group of that name.

    Raises:
        CliError: no visible group has the name.
    """
    body = {"name": name, "limit": 1}
    groups = session.post("/api/v1/groups/search", json=body).json()["groups"]
    if not groups:
        raise errors.CliError(f"there is no user group '{name}': see `det user-group list`")
    number: int = groups[0]["group"]["groupId"]
    return number


def user_id(session: BaseSession, username: str) -> int:
    return int(edit.find_user(session, username)["id"])


def search(
    session: BaseSession, path: str, key: str, body: Dict[str, Any], pages: str
) -> Dict[str, Any]:
    """The result of a paginated search by POST: one page, or all pages combined."""
    answer: Dict[str, Any] = session.post(path, json=body).json()
    bounds = answer["pagination"]
    while pages != "1" and bounds["endIndex"] < bounds["total"]:
        more = session.post(path, json={**body, "offset": bounds["endIndex"]}).json()
        if not more[key]:
            break
        answer[key] += more[key]
        bounds["endIndex"] = more["pagination"]["endIndex"]
    return answer


def _user_ids(session: BaseSession, usernames: List[str]) -> List[int]:
    return [user_id(session, name) for name in usernames]


def _change(session: BaseSession, name: str, changes: Dict[str, Any]) -> None:
    session.put(f"/api/v1/groups/{group_id(session, name)}", json=changes)
