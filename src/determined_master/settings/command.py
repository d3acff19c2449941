"""The master's command line and variables, built from the definitions of its options."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from determined_master.settings.reader import parse_text
from determined_master.settings.simulate import SimulateOptions, add_options, options_of
from determined_wire.settings_options import Option, options
from determined_wire.settings_reader import (
    SettingsParser,
    SettingValue,
    add_flag,
    given_flags,
    overrides,
)

Path = tuple[str, ...]


class Command(msgspec.Struct, frozen=True):
    """The command of the master; `directory` for backup and restore, options of others."""

    name: str
    directory: str = ""
    simulate: SimulateOptions | None = None
    tenants: bool = False
    """Of check: whether to name the settings that are open for tenants."""


class CommandLine(NamedTuple):
    """A parsed command line; flags by the name of their option."""

    command: Command
    flags: dict[str, SettingValue]


_COMMANDS = {
    "run": "run the master (the default)",
    "backup": "save the database and its files in a new directory",
    "restore": "restore a backup into an empty master",
    "simulate": "replay a recorded or generated queue under other rules or on other agents",
    "migrate": "migrate the database's tables to this version, and exit",
    "check": "check the settings, and exit",
    "version": "print the version",
    "help": "print this text",
}
_TENANTS = "name every setting that lets tenants reach each other; exit with 1 if there is one"
_EPILOG = """\
Every option can also be given by its DET_* variable or in the file: --db-host, DET_DB_HOST and
`db: {host: ...}` are the same. A flag wins over a variable, a variable over the file. Lists and
maps (resource_pools, checkpoint_storage, ...) can only be given in the file.
"""


def parse_command_line(cls: type[msgspec.Struct], argv: Sequence[str]) -> CommandLine:
    """Read flags and command; the flags may be before or after the command.

    Raises:
        SystemExit: for `--help` and for unknown commands.
    """
    chosen = [option for option in options(cls) if option.is_scalar]
    flags = _flags(chosen)
    parser = SettingsParser(
        prog="determined-master",
        usage="determined-master [OPTION ...] [COMMAND]",
        description="The master of a Determined cluster.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[flags],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, text in _COMMANDS.items():
        below = [flags] if name not in ("version", "help") else []
        argument = " DIR" if name in ("backup", "restore") else ""
        command = commands.add_parser(
            name,
            prog=f"determined-master {name}",
            usage=f"determined-master {name} [OPTION ...]{argument}",
            help=text,
            description=text,
            parents=below,  # type: ignore[arg-type]  # any parser will do
            allow_abbrev=False,
        )
        if name in ("backup", "restore"):
            command.add_argument("directory", metavar="DIR")
        if name == "simulate":
            add_options(command)
        if name == "check":
            command.add_argument("--tenants", action="store_true", help=_TENANTS)
    parsed = parser.parse_args(argv)
    if parsed.command == "help":
        parser.parse_args(["--help"])
    values = given_flags(chosen, parsed)
    name = "version" if parsed.version else parsed.command or "run"
    simulate = options_of(parsed) if name == "simulate" else None
    directory, tenants = getattr(parsed, "directory", ""), getattr(parsed, "tenants", False)
    return CommandLine(Command(name, directory, simulate, tenants), values)


def override(
    cls: type[msgspec.Struct],
    tree: dict[str, Any],
    env: Mapping[str, str],
    flags: Mapping[str, SettingValue],
) -> dict[str, str]:
    """Override the file's values by variables and flags, in place.

    Returns:
        The flag or variable of each overridden path, for errors.
    """
    sources = {}
    for option, value in overrides(cls, env, flags):
        _put(tree, option.path, parse_text(option, value.text))
        sources[f"root.{option.name}"] = value.source
    return sources


def _flags(declared: Sequence[Option]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    groups: dict[str, Any] = {}
    for option in declared:
        title = option.path[0] if len(option.path) > 1 else "general"
        if title not in groups:
            groups[title] = parser.add_argument_group(title.strip("_"))
        add_flag(groups[title], option)
    return parser


def _put(tree: dict[str, Any], path: Path, value: Any) -> None:
    for part in path[:-1]:
        inner = tree.get(part)
        if not isinstance(inner, dict):
            inner = tree[part] = {}
        tree = inner
    tree[path[-1]] = value
