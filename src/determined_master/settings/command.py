"""The master's command line and variables, made from the definitions of its options."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from determined_master.settings import reader
from determined_master.settings.simulate import SimulateOptions, add_options, options_of

Path = tuple[str, ...]


class Command(msgspec.Struct, frozen=True):
    """What the master was called for; `directory` for backup and restore, options of simulate."""

    name: str
    directory: str = ""
    simulate: SimulateOptions | None = None


class Given(NamedTuple):
    """The text of a flag or variable, and where it was given."""

    text: str
    source: str


class CommandLine(NamedTuple):
    """A parsed command line; flags by the path of their option."""

    command: Command
    flags: dict[Path, Given]


_COMMANDS = {
    "run": "run the master (the default)",
    "backup": "save the database and what belongs to it in a new directory",
    "restore": "make an empty master what a backup was taken from",
    "simulate": "replay a recorded or made-up queue by other rules or on other agents",
    "migrate": "bring the database's tables up to this version, and end",
    "version": "print the version",
    "help": "print this text",
}
_EPILOG = """\
Every option can also be given by its DET_* variable or in the file: --db-host, DET_DB_HOST and
`db: {host: ...}` are the same. A flag wins over a variable, a variable over the file. Lists and
maps (resource_pools, checkpoint_storage, ...) can only be given in the file.
"""


def flag_of(path: Path) -> str:
    """The flag of an option: `--db-ssl-mode`."""
    return "--" + "-".join(part.strip("_").replace("_", "-") for part in path)


def variable_of(path: Path) -> str:
    """The variable of an option: `DET_DB_SSL_MODE`."""
    return "DET_" + flag_of(path)[2:].replace("-", "_").upper()


def parse_command_line(cls: type[msgspec.Struct], argv: Sequence[str]) -> CommandLine:
    """Read flags and command; the flags may stand before or after the command.

    Raises:
        SystemExit: for `--help`, and for what nobody knows.
    """
    chosen = [option for option in reader.options(cls) if option.is_scalar]
    flags = _flags(chosen)
    parser = _Parser(
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
    parsed = parser.parse_args(argv)
    if parsed.command == "help":
        parser.parse_args(["--help"])
    given = {
        option.path: Given(getattr(parsed, _dest(option.path)), flag_of(option.path))
        for option in chosen
        if getattr(parsed, _dest(option.path), None) is not None
    }
    name = "version" if parsed.version else parsed.command or "run"
    simulate = options_of(parsed) if name == "simulate" else None
    return CommandLine(Command(name, getattr(parsed, "directory", ""), simulate), given)


def overrides(
    cls: type[msgspec.Struct],
    tree: dict[str, Any],
    env: Mapping[str, str],
    flags: Mapping[Path, Given],
) -> dict[str, str]:
    """Put variables and flags over the file's values, in place.

    Returns:
        Where the value at each path came from, for errors.
    """
    sources = {}
    for option in reader.options(cls):
        if not option.is_scalar:
            continue
        variable = variable_of(option.path)
        given = flags.get(option.path)
        if given is None and env.get(variable):
            given = Given(env[variable], variable)
        if given is not None:
            _put(tree, option.path, reader.parse_text(option, given.text))
            sources[".".join(("root", *option.path))] = given.source
    return sources


class _Parser(argparse.ArgumentParser):
    """Says which word of the command line is unknown, and what may have been meant."""

    def parse_known_args(  # type: ignore[override]  # of all its forms, the one that is used
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        # Else the value behind an unknown flag would be taken for a command, and blamed.
        for flag in (word.partition("=")[0] for word in args if word.startswith("--")):
            known = self._all_flags()
            if flag not in known:
                self.error(f"there is no option {flag}{_hint(flag, known)}")
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = _hint(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{near}") from None

    def _all_flags(self) -> set[str]:
        found = set(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found.update(*(below._option_string_actions for below in action.choices.values()))
        return found


def _hint(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, sorted(known), 2)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _flags(options: Sequence[reader.Option]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    groups: dict[str, Any] = {}
    for option in options:
        title = option.path[0] if len(option.path) > 1 else "general"
        if title not in groups:
            groups[title] = parser.add_argument_group(title.strip("_"))
        is_switch = isinstance(option.type, inspect.BoolType)
        default = "" if option.default in (None, "", 0) else f" (default: {_text(option.default)})"
        groups[title].add_argument(
            flag_of(option.path),
            dest=_dest(option.path),
            metavar=_metavar(option),
            help=(option.doc + default).replace("%", "%%") if option.doc else argparse.SUPPRESS,
            default=argparse.SUPPRESS,
            **({"nargs": "?", "const": "true"} if is_switch else {}),
        )
    return parser


def _metavar(option: reader.Option) -> str:
    match option.type:
        case inspect.BoolType():
            return "true|false"
        case inspect.IntType():
            return "N"
        case inspect.LiteralType():
            return "|".join(str(value) for value in option.type.values)
        case _:
            return option.path[-1].upper()


def _text(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _dest(path: Path) -> str:
    return "option." + ".".join(path)


def _put(tree: dict[str, Any], path: Path, value: Any) -> None:
    for part in path[:-1]:
        inner = tree.get(part)
        if not isinstance(inner, dict):
            inner = tree[part] = {}
        tree = inner
    tree[path[-1]] = value
