"""`det user`: the commands that change an existing user."""

from __future__ import annotations

import argparse
from typing import Any, Dict
from urllib.parse import quote

from determined.cli import connect, errors
from determined.cli.declare import Command, arg
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors

_HERE = "determined.cli.user.edit"
_FIELDS = {
    "display_name": ("displayName", "Display Name"),
    "remote": ("remote", "Remote"),
    "active": ("active", "Active"),
    "username": ("username", "Username"),
    "admin": ("admin", "Admin"),
}
"""Options with their wire names and their names in messages."""
_TARGET = arg("target_user", help="name of the user")
_USERNAME = arg("username", help="name of the user")


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return word == "true"


def _switch(name: str, help_text: str) -> Any:
    return arg(name, type=_boolean, metavar="(true|false)", help=help_text)


COMMANDS = (
    Command("activate", "activate user", f"{_HERE}:activate", (_USERNAME,)),
    Command("deactivate", "deactivate user", f"{_HERE}:deactivate", (_USERNAME,)),
    Command(
        "edit",
        "edit user",
        f"{_HERE}:edit",
        (
            _TARGET,
            arg("--display-name", help="new display name; empty for none"),
            arg("--username", help="new name"),
            _switch("--remote", "whether the user logs in by single sign-on"),
            _switch("--active", "whether the user may log in"),
            _switch("--admin", "whether the user is an admin"),
        ),
    ),
    Command(
        "link-with-agent-user",
        "link user with a user of the agents' machines",
        f"{_HERE}:link_with_agent_user",
        (
            arg("det_username", help="name of the user"),
            arg("--agent-uid", type=int, required=True, help="UID that tasks run as"),
            arg("--agent-user", required=True, help="name of that user"),
            arg("--agent-gid", type=int, required=True, help="GID that tasks run as"),
            arg("--agent-group", required=True, help="name of that group"),
        ),
    ),
    Command(
        "rename",
        "rename user",
        f"{_HERE}:rename",
        (_TARGET, arg("new_username", help="new name")),
    ),
)


def activate(args: argparse.Namespace) -> None:
    _patch(args, args.username, {"active": True})


def deactivate(args: argparse.Namespace) -> None:
    """Disable a user: no more logins, and the user's tokens become invalid at once."""
    _patch(args, args.username, {"active": False})


def edit(args: argparse.Namespace) -> None:
    """Change the attributes given as options.

    Raises:
        CliError: no option is given.
    """
    fields = {name: getattr(args, name) for name in _FIELDS if getattr(args, name) is not None}
    if not fields:
        raise errors.CliError("nothing to change; see: det user edit --help")
    _patch(args, args.target_user, {_FIELDS[name][0]: value for name, value in fields.items()})
    print("Changes made to the following fields: " + ", ".join(_FIELDS[n][1] for n in fields))


def link_with_agent_user(args: argparse.Namespace) -> None:
    """Run the user's tasks as a user of the agents' machines."""
    group = {
        "agentUid": args.agent_uid,
        "agentUser": args.agent_user,
        "agentGid": args.agent_gid,
        "agentGroup": args.agent_group,
    }
    _patch(args, args.det_username, {"agentUserGroup": group})


def rename(args: argparse.Namespace) -> None:
    _patch(args, args.target_user, {"username": args.new_username})


def find_user(session: BaseSession, username: str) -> Dict[str, Any]:
    """A user by name.

    Raises:
        CliError: there is none.
    """
    path = f"/api/v1/users/{quote(username, safe='')}/by-username"
    try:
        user: Dict[str, Any] = session.get(path).json()["user"]
    except api_errors.NotFoundException:
        raise errors.CliError(f"there is no user '{username}': see 'det user list'") from None
    return user


def _patch(args: argparse.Namespace, username: str, changes: Dict[str, Any]) -> None:
    session = connect.session(args)
    session.patch(f"/api/v1/users/{find_user(session, username)['id']}", json=changes)
