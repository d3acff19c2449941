"""`det context`: masters by name, and the one that commands use."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any, Dict, Iterator, List

from determined.cli import declare, errors
from determined.cli.declare import Command, arg, flag
from determined.cli.output import show
from determined.common import master_contexts
from determined.common.api import authentication

_HERE = "determined.cli.config.context"
_NAME = arg("context_name", help="name of the context")
_JSON = flag("--json", help="print as JSON")

NOUN = Command(
    "context|ctx",
    "manage contexts: named masters",
    commands=(
        Command(
            "create",
            "create or change a context",
            f"{_HERE}:create",
            (
                _NAME,
                arg("address", help="address of the master, such as https://det.example:8443"),
                flag("--use", help="make it the current context"),
            ),
        ),
        Command("list|ls", "list contexts", f"{_HERE}:list_contexts", (_JSON,), is_default=True),
        Command("remove|rm", "remove a context", f"{_HERE}:remove", (_NAME,)),
        Command("show", "show the master that commands use, and why", f"{_HERE}:show_current"),
        Command("use", "use a context", f"{_HERE}:use", (_NAME,)),
    ),
)


def create(args: argparse.Namespace) -> None:
    """Raises CliError: the name or the address has another form."""
    with _failures():
        store = master_contexts.ContextStore()
        is_used = args.use or store.current is None
        store.put(args.context_name, args.address, is_used=is_used)
        address = store.addresses()[args.context_name]
    print(f"context '{args.context_name}' is {address}")
    if is_used:
        _tell_use(args.context_name)


def use(args: argparse.Namespace) -> None:
    """Raises CliError: there is no such context."""
    with _failures():
        address = master_contexts.ContextStore().use(args.context_name)
    print(f"context '{args.context_name}' is {address}")
    _tell_use(args.context_name)


def remove(args: argparse.Namespace) -> None:
    """Raises CliError: there is no such context."""
    with _failures():
        store = master_contexts.ContextStore()
        before = store.current
        store.remove(args.context_name)
        after = master_contexts.default_master({})
    print(f"removed context '{args.context_name}'")
    if before == args.context_name:
        print(f"commands use {after.address} now ({after.source})")


def list_contexts(args: argparse.Namespace) -> None:
    """Print all contexts, each with the user who is logged in there."""
    with _failures():
        store = master_contexts.ContextStore()
        addresses, current = store.addresses(), store.current
    rows: List[Dict[str, Any]] = [
        {
            "current": name == current,
            "name": name,
            "address": address,
            "user": authentication.TokenStore(address).active_user or "",
        }
        for name, address in addresses.items()
    ]
    if args.json:
        show.as_json(rows)
        return
    if not rows:
        master = master_contexts.default_master()
        print(
            f"there are no contexts: commands use {master.address} ({master.source}); "
            "'det context create NAME ADDRESS' makes one"
        )
        return
    show.table(
        ["Current", "Name", "Address", "User"],
        [
            ["*" if row["current"] else "", row["name"], row["address"], row["user"]]
            for row in rows
        ],
    )
    _warn_of_environment()


def show_current(args: argparse.Namespace) -> None:
    """Print the master that commands use, and who names it."""
    with _failures():
        master = master_contexts.default_master()
    print(f"{master.address} ({master.source})")


def _tell_use(name: str) -> None:
    print(f"commands use context '{name}' now")
    _warn_of_environment()


def _warn_of_environment() -> None:
    with contextlib.suppress(master_contexts.ContextError):
        master = master_contexts.default_master()
        if master.source == "DET_MASTER":
            declare.warn(
                f"DET_MASTER is {master.address} and overrides the context: unset it to use the "
                "context"
            )


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except master_contexts.ContextError as error:
        raise errors.CliError(str(error)) from None
