"""Reads the settings of the master and of the agent from flags, variables and a file.

A flag wins over a variable, a variable over the file. Converting the values is left to the caller.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from determined_wire.settings_options import Option, options


class SettingsError(Exception):
    """The settings cannot be used; the text lists every error with its path."""

    @classmethod
    def of(cls, problems: Sequence[tuple[str, str]], sources: Mapping[str, str]) -> SettingsError:
        """Build the error for these paths and texts; `sources` has flags and variables by path."""
        lines = [f"Check Failed! {len(problems)} errors found:"]
        for path, text in problems:
            source = sources.get(path)
            lines.append(f"\t{path}: {text}" + (f" (from {source})" if source else ""))
        return cls("\n".join(lines))


class SettingValue(NamedTuple):
    """The text of a flag or variable, and which one gave it."""

    text: str
    source: str


class SettingsParser(argparse.ArgumentParser):
    """Names an unknown word of the command line, and suggests known ones."""

    def parse_known_args(  # type: ignore[override]  # of all its forms, the one that is used
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        # Otherwise the value after an unknown flag would be reported as an unknown command.
        flags = self._all_flags()
        for flag in (word.partition("=")[0] for word in args if word.startswith("--")):
            if flag not in flags:
                self.error(f"there is no option {flag}{suggestion(flag, flags)}")
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = suggestion(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{near}") from None

    def _all_flags(self) -> set[str]:
        flags = set(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                flags.update(*(below._option_string_actions for below in action.choices.values()))
        return flags


def add_flag(parser: Any, option: Option, *short: str) -> None:
    """Add the flag of an option to a parser or to a group of one."""
    is_shown = option.default not in (None, "", 0)
    default = f" (default: {_default_text(option.default)})" if is_shown else ""
    parser.add_argument(
        *short,
        option.flag,
        dest=_dest(option),
        metavar=option.metavar,
        help=(option.doc + default).replace("%", "%%") if option.doc else argparse.SUPPRESS,
        default=argparse.SUPPRESS,
        **({"nargs": "?", "const": "true"} if option.is_switch else {}),
    )


def given_flags(declared: Iterable[Option], parsed: argparse.Namespace) -> dict[str, SettingValue]:
    """Return the flags of a parsed command line, by the names of their options."""
    values = {}
    for option in declared:
        text = getattr(parsed, _dest(option), None)
        if text is not None:
            values[option.name] = SettingValue(text, option.flag)
    return values


def overrides(
    cls: type[msgspec.Struct], env: Mapping[str, str], flags: Mapping[str, SettingValue]
) -> Iterator[tuple[Option, SettingValue]]:
    """Yield the options that a flag or a variable gives, which override the file.

    Args:
        cls: the struct of all options.
        env: the environment; an empty variable counts as unset.
        flags: by the names of the options.
    """
    for option in options(cls):
        if not option.is_scalar:
            continue
        value = flags.get(option.name)
        if value is None and env.get(option.variable):
            value = SettingValue(env[option.variable], option.variable)
        if value is not None:
            yield option, value


def read_text(path: str, *, is_explicit: bool) -> str | None:
    """Read a settings file; None if it does not exist and was not named explicitly.

    Raises:
        SettingsError: the file cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        if is_explicit:
            raise SettingsError(f"configuration file {path} does not exist") from None
        return None
    except OSError as error:
        text = f"configuration file {path} cannot be read: {error.strerror}"
        raise SettingsError(text) from None
    except UnicodeDecodeError as error:
        fault = f"byte {error.start + 1} is not UTF-8 text: save it as UTF-8"
        raise SettingsError(f"configuration file {path}: {fault}") from None


def options_in(value: Any, path: str) -> dict[str, Any]:
    """Return the parsed content of a settings file as a map; empty if the file is.

    Raises:
        SettingsError: it is not a map.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SettingsError(f"configuration file {path} must hold a map of options")
    return value


def suggestion(word: str, names: Iterable[str]) -> str:
    """Return a question for the known words that are similar to one; empty if none are."""
    near = difflib.get_close_matches(word, sorted(names), 2)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def similar_option(name: str, names: Iterable[str]) -> str:
    """Return the known option that is most similar to an unknown one; empty if none is."""
    near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.75)
    return near[0] if near else ""


def _default_text(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _dest(option: Option) -> str:
    return f"option.{option.name}"
