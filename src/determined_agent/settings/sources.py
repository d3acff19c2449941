"""Where an agent's settings come from: a command line, variables and a YAML file.

The structs are the only definition of an option: its name, type, bounds, default and what it
means (`Meta(description=...)`).
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import msgspec

from determined_agent.settings.completion import SHELLS, completion_script

DEFAULT_FILE = "/etc/determined/agent.yaml"
COMMANDS = ("run", "version", "help", "completion")
_WORDS = {"yes": True, "on": True, "no": False, "off": False}


class SettingsError(Exception):
    """The settings cannot be used; the text lists every error with its path."""


class Option(NamedTuple):
    """One option; `path` as ("log", "level")."""

    path: tuple[str, ...]
    type: Any
    default: Any

    @property
    def name(self) -> str:
        """The path with dots."""
        return ".".join(self.path)

    @property
    def flag(self) -> str:
        """`--log-level`."""
        return "--" + "-".join(self.path).replace("_", "-")

    @property
    def variable(self) -> str:
        """`DET_LOG_LEVEL`."""
        return "DET_" + "_".join(self.path).upper()

    @property
    def doc(self) -> str:
        """What it means."""
        metas = get_args(self.type)[1:] if get_origin(self.type) is Annotated else ()
        return next((m.description for m in metas if m.description), "")

    @property
    def is_list(self) -> bool:
        """Whether only the file can give it."""
        return get_origin(self._bare) is tuple

    @property
    def words(self) -> tuple[str, ...]:
        """What can be chosen; empty for a free value."""
        return get_args(self._bare) if get_origin(self._bare) is Literal else ()

    @property
    def _bare(self) -> Any:
        return get_args(self.type)[0] if get_origin(self.type) is Annotated else self.type


def options(cls: type[msgspec.Struct], path: tuple[str, ...] = ()) -> Iterator[Option]:
    """All options of a struct and of the structs in it, in their order."""
    for field in msgspec.structs.fields(cls):
        here = (*path, field.encode_name)
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from options(field.type, here)
        else:
            default = None if field.default is msgspec.NODEFAULT else field.default
            yield Option(here, field.type, default)


class SettingsSources:
    """Collects the values of all sources, and all that is wrong with them."""

    def __init__(
        self,
        cls: type[msgspec.Struct],
        not_here: Mapping[str, str],
        no_effect: Mapping[str, str],
    ) -> None:
        """
        Args:
            cls: the struct of all options.
            not_here: options of older agents that are refused, with the reason.
            no_effect: those that are read over, with the reason.
        """
        self.tree: dict[str, Any] = {}
        self.warnings: list[str] = []
        self._no_effect = no_effect
        self._cls = cls
        self._not_here = not_here
        self._options = {option.path: option for option in options(cls)}
        self._problems: dict[str, str] = {}
        self._origins: dict[str, str] = {}

    def problem(self, name: str, text: str) -> None:
        """Note an error; the first one of an option counts."""
        self._problems.setdefault(name, text)

    def read(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Read the command line, the variables and the file into `tree`.

        Raises:
            SettingsError: the file cannot be read.
            SystemExit: for `--help`, `version` and unknown flags.
        """
        flags = _parse(list(self._options.values()), argv)
        file = flags.pop("config_file", None) or env.get("DET_CONFIG_FILE")
        self._take(_read_file(file or DEFAULT_FILE, is_explicit=bool(file)), ())
        for path, option in self._options.items():
            if option.is_list:
                continue
            text = flags.get(option.name)
            origin = option.flag
            if text is None:
                text, origin = env.get(option.variable) or None, option.variable
            if text is not None:
                self._put(path, text)
                self._origins[option.name] = origin

    def build(self) -> Any:
        """The settings.

        Raises:
            SettingsError: with every error and its path.
        """
        if self._problems:
            lines = [f"Check Failed! {len(self._problems)} errors found:"]
            for name, text in sorted(self._problems.items()):
                origin = self._origins.get(name)
                lines.append(f"\troot.{name}: {text}" + (f" (from {origin})" if origin else ""))
            raise SettingsError("\n".join(lines))
        return msgspec.convert(self.tree, self._cls)

    def _take(self, given: Mapping[str, Any], path: tuple[str, ...]) -> None:
        sections = {p[: len(path) + 1] for p in self._options if len(p) > len(path) + 1}
        for key, value in given.items():
            here = (*path, str(key))
            name = ".".join(here)
            if here in self._options:
                if value is not None:
                    self._put(here, value)
            elif here in sections:
                if isinstance(value, Mapping):
                    self._take(value, here)
                elif value is not None:
                    self.problem(name, "must be a map of options")
            elif name in self._no_effect:
                self.warnings.append(f"{name} {self._no_effect[name]}")
            elif name in self._not_here:
                self.problem(name, self._not_here[name])
            else:
                self.problem(name, self._unknown(here))

    def _put(self, path: tuple[str, ...], value: Any) -> None:
        option = self._options[path]
        try:
            read = msgspec.convert(_spelled(option, value), option.type, strict=False)
        except msgspec.ValidationError as e:
            wanted = f"must be one of {', '.join(words)}" if (words := option.words) else str(e)
            shown = "" if "token" in option.name else f" but found {str(value)[:80]!r}"
            self.problem(option.name, wanted[0].lower() + wanted[1:] + shown)
            return
        self._problems.pop(option.name, None)
        tree = self.tree
        for part in path[:-1]:
            tree = tree.setdefault(part, {})
        tree[path[-1]] = read

    def _unknown(self, path: tuple[str, ...]) -> str:
        known = [p[len(path) - 1] for p in self._options if p[: len(path) - 1] == path[:-1]]
        near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.75)
        remedy = f"did you mean {near[0]}?" if near else "remove it, or see --help for all options"
        return f"unknown option; {remedy}"


def _spelled(option: Option, value: Any) -> Any:
    """A value with words for booleans where the option is one."""
    is_bool = isinstance(option.default, bool)
    if is_bool and isinstance(value, str) and value.lower() in _WORDS:
        return _WORDS[value.lower()]
    return value


class _Parser(argparse.ArgumentParser):
    """Says which word of the command line is unknown, and what may have been meant."""

    def parse_known_args(  # type: ignore[override]  # of all its forms, the one that is used
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        # Else the value behind an unknown flag would be taken for a command, and blamed.
        known = self._option_string_actions
        for flag in (word.partition("=")[0] for word in args if word.startswith("--")):
            if flag not in known:
                self.error(f"there is no option {flag}{_hint(flag, known)}")
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as e:
            near = _hint(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{e.message}{near}") from None


def _hint(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, sorted(known), 2)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _parse(known: Sequence[Option], argv: Sequence[str]) -> dict[str, Any]:
    parser = _Parser(
        prog="determined-agent",
        usage="determined-agent [OPTION ...] [run|version|help|completion SHELL]",
        description="The agent that runs a Determined cluster's tasks on this machine.",
        epilog=(
            "Every option can also be given by its DET_* variable (--log-level, DET_LOG_LEVEL) or "
            "in the file. A flag wins over a variable, a variable over the file."
        ),
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("command", nargs="?", choices=COMMANDS, default="run")
    parser.add_argument("shell", nargs="?", choices=SHELLS, default=None, help="of completion")
    parser.add_argument(
        "--config-file", help=f"File of options, or DET_CONFIG_FILE (default: {DEFAULT_FILE})"
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    for option in known:
        if option.is_list:
            continue
        is_switch = isinstance(option.default, bool)
        shown = "true" if option.default is True else option.default
        default = "" if not option.default else f" (default: {shown})"
        parser.add_argument(
            *(("-l",) if option.name == "log.level" else ()),
            option.flag,
            dest=option.name,
            metavar="true|false" if is_switch else "|".join(option.words) or _value(option),
            help=option.doc + default,
            nargs="?" if is_switch else None,
            const="true" if is_switch else None,
        )
    flags = vars(parser.parse_args(argv))
    command, shell = flags.pop("command"), flags.pop("shell", None)
    if (command == "completion") != bool(shell):
        parser.error(f"completion needs a shell: one of {', '.join(SHELLS)}")
    if flags.pop("version", False) or command == "version":
        sys.stdout.write(f"determined-agent {_version()}\n")
        raise SystemExit(0)
    if command == "help":
        parser.print_help()
        raise SystemExit(0)
    if shell:
        sys.stdout.write(completion_script(shell, ["--config-file", *(o.flag for o in known)]))
        raise SystemExit(0)
    return flags


def _value(option: Option) -> str:
    return "N" if isinstance(option.default, int) else option.path[-1].upper()


def _version() -> str:
    try:
        return metadata.version("determined")
    except metadata.PackageNotFoundError:
        return "0.0.0"


def _read_file(path: str, *, is_explicit: bool) -> Mapping[str, Any]:
    # Imported here: the parser is a third of the agent's memory and needed once.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        value = YAML(typ="safe", pure=True).load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if is_explicit:
            raise SettingsError(f"configuration file {path} does not exist") from None
        return {}
    except OSError as e:
        raise SettingsError(f"configuration file {path} cannot be read: {e.strerror}") from None
    except UnicodeDecodeError as e:
        fault = f"byte {e.start + 1} is not UTF-8 text: save it as UTF-8"
        raise SettingsError(f"configuration file {path}: {fault}") from None
    except YAMLError as e:
        raise SettingsError(f"configuration file {path}: {_yaml_fault(e)}") from None
    if value is not None and not isinstance(value, Mapping):
        raise SettingsError(f"configuration file {path} must hold a map of options")
    return value or {}


def _yaml_fault(error: Exception) -> str:
    """What is wrong in a file and where, on one line: not all of it may be shown to anybody."""
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error).partition(" with value ")[0]
    line = f"line {mark.line + 1}: " if mark else ""
    return line + " ".join(problem.split())
