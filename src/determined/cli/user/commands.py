"""`det user`: login, logout, passwords and accounts."""

from __future__ import annotations

import argparse
import getpass
import sys
from typing import Any, Dict

from determined.cli import connect, errors, pagination, trust
from determined.cli.declare import Command, arg, flag
from determined.cli.output import show
from determined.cli.user import edit
from determined.common.api import BaseSession, authentication
from determined.common.api import errors as api_errors

_HERE = "determined.cli.user.commands"
_HEADERS = (
    "User Id",
    "Username",
    "Display Name",
    "Admin",
    "Active",
    "Remote",
    "Agent Uid",
    "Agent Gid",
    "Agent User",
    "Agent Group",
)

NOUN = Command(
    "user|u",
    "manage users",
    commands=(
        Command(
            "change-password",
            "change password for user",
            f"{_HERE}:change_password",
            (arg("target_user", nargs="?", help="name of user to change password of"),),
        ),
        Command(
            "create",
            "create user",
            f"{_HERE}:create",
            (
                arg("username", help="name of new user"),
                flag("--admin", help="give new user admin rights"),
                arg("--password", help="password of new user (default: ask for it)"),
                flag("--remote", help="disallow passwords: the user logs in by single sign-on"),
            ),
        ),
        Command(
            "list|ls",
            "list users",
            f"{_HERE}:list_users",
            (
                flag("--all", "-a", help="List all active and inactive users."),
                flag("--json", help="print as JSON"),
            ),
            is_default=True,
        ),
        Command(
            "login",
            "log in user",
            f"{_HERE}:login",
            (arg("username", nargs="?", help="name of user to log in as"),),
        ),
        Command(
            "logout",
            "log out user",
            f"{_HERE}:logout",
            (
                flag(
                    "--all",
                    "-a",
                    help="log out of all cached sessions for the current master",
                ),
            ),
        ),
        Command(
            "whoami",
            "print the active user",
            f"{_HERE}:whoami",
            (flag("--json", help="print as JSON"),),
        ),
        *edit.COMMANDS,
    ),
)


def login(args: argparse.Namespace) -> None:
    """Ask for the password, log in, and make the user the active one."""
    username = args.username or args.user or _prompt_username()
    _log_in(args, username, _password(f"Password for user '{username}': "))


def logout(args: argparse.Namespace) -> None:
    """End the session of the active user; with `--all`, of every user stored on this machine."""
    store = authentication.TokenStore(connect.address_of(args))
    active = args.user or store.active_user
    names = store.users() if args.all else [active] if active else []
    for name in names:
        args.user = name
        authentication.logout(connect.session(args), store)


def whoami(args: argparse.Namespace) -> None:
    """Print the user that commands run as, according to the master."""
    user = connect.session(args).get("/api/v1/me").json()["user"]
    if args.json:
        show.as_json(user)
    else:
        print(f"You are logged in as user '{user['username']}'")


def list_users(args: argparse.Namespace) -> None:
    """Print the active users, or all."""
    with_inactive = getattr(args, "all", False)
    params = {} if with_inactive else {"active": True}
    users = pagination.fetch(connect.session(args), "/api/v1/users", "users", params)
    if getattr(args, "json", False):
        show.as_json(users)
        return
    show.table(_HEADERS, [_row(user) for user in users])


def create(args: argparse.Namespace) -> None:
    """Create a user. A user who is not remote needs a password."""
    session = connect.session(args)
    password = args.password
    if password is None and not args.remote:
        password = _password(f"New password for user '{args.username}': ")
        _confirm(password)
    user = {"username": args.username, "admin": args.admin, "active": True, "remote": args.remote}
    body: Dict[str, Any] = {"user": user}
    if password or not args.remote:
        body.update(_fields_of(session, password))
    session.post("/api/v1/users", json=body)
    print(f"Created user '{args.username}'")


def change_password(args: argparse.Namespace) -> None:
    """Set the password of a user, by default the active user, which ends the user's sessions.

    A user who changes their own password is logged in again, so scripts keep working. The current
    password is asked for unless the last login was a few minutes ago.
    """
    session = connect.session(args)
    me = session.get("/api/v1/me").json()["user"]
    target = args.target_user or me["username"]
    user = me if target == me["username"] else edit.find_user(session, target)
    is_active = authentication.TokenStore(session.master).active_user in (None, target)
    password = _password(f"New password for user '{target}': ")
    path, fields = f"/api/v1/users/{user['id']}", _fields_of(session, password)
    _confirm(password)
    try:
        session.patch(path, json=fields)
    except api_errors.ForbiddenException:
        if target != me["username"]:
            raise
        # A user's own password needs a recent login with the old one.
        old = _password(f"Current password for user '{target}': ")
        _log_in(args, target, old, becomes_active=is_active)
        connect.session(args).patch(path, json=fields)
    print(f"Changed the password of '{target}'")
    if target == me["username"]:
        _log_in(args, target, password, becomes_active=is_active)


def _log_in(
    args: argparse.Namespace, username: str, password: str, *, becomes_active: bool = True
) -> None:
    master = connect.address_of(args)
    options = authentication.Options(cert=trust.cert_of(master), max_retries=connect.RETRIES)
    try:
        opened = authentication.login(master, username, password, options)
    except api_errors.InvalidCredentialsException:
        connect.check_address(args)
        raise
    with opened as session:
        try:
            store = authentication.TokenStore(master)
            store.set_token(username, session.token, becomes_active)
        except OSError as error:
            raise errors.CliError(
                f"the login cannot be stored: {errors.in_words(error)}; set XDG_CONFIG_HOME to a "
                "writable directory, or set DET_USER and DET_PASS for each command"
            ) from None


def _prompt_username() -> str:
    try:
        name = input("Username: ") if sys.stdin.isatty() else sys.stdin.readline().strip()
    except EOFError:
        name = ""
    if not name:
        raise errors.CliError("no username given; run: det user login <username>")
    return name


def _confirm(password: str) -> None:
    if sys.stdin.isatty() and _password("Confirm password: ") != password:
        raise errors.CliError("the two passwords differ; nothing was changed")


def _fields_of(session: BaseSession, password: str) -> Dict[str, Any]:
    try:
        return authentication.new_password(session, password)
    except ValueError as error:
        raise errors.CliError(str(error)) from None


def _password(prompt: str) -> str:
    """A password, read from the terminal without echo, or from a line of standard input."""
    try:
        line = getpass.getpass(prompt) + "\n" if sys.stdin.isatty() else sys.stdin.readline()
    except EOFError:
        line = ""
    if not line:
        raise errors.CliError("no password given; nothing was changed")
    return line.rstrip("\n")


def _row(user: Dict[str, Any]) -> Any:
    agent = user.get("agentUserGroup") or {}
    names = ("agentUid", "agentGid", "agentUser", "agentGroup")
    own = [user[k] for k in ("id", "username", "displayName", "admin", "active", "remote")]
    return own + [agent.get(name, "N/A") for name in names]
