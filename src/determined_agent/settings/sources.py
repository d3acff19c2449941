"""Reads and merges the sources of the agent's settings: flags, variables and a YAML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from determined_agent.settings.command_line import DEFAULT_FILE, parse_command_line
from determined_wire.settings_options import Option, options
from determined_wire.settings_reader import (
    SettingsError,
    options_in,
    overrides,
    read_text,
    similar_option,
)

_BOOLEAN_WORDS = {"yes": True, "on": True, "no": False, "off": False}


class SettingsSources:
    """Collects the values of all sources, and all errors in them."""

    def __init__(
        self,
        cls: type[msgspec.Struct],
        refused: Mapping[str, str],
        ignored: Mapping[str, str],
    ) -> None:
        """
        Args:
            cls: the struct of all options.
            refused: options of older agents that are errors, with the reason.
            ignored: options of older agents that are ignored with a warning, with the reason.
        """
        self.tree: dict[str, Any] = {}
        self.warnings: list[str] = []
        self._cls = cls
        self._refused = refused
        self._ignored = ignored
        self._options = {option.path: option for option in options(cls)}
        self._problems: dict[str, str] = {}
        self._origins: dict[str, str] = {}

    def problem(self, name: str, text: str) -> None:
        """Record an error; only the first one of an option counts."""
        self._problems.setdefault(name, text)

    def read(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Read the command line, the variables and the file into `tree`.

        Raises:
            SettingsError: the file cannot be read.
            SystemExit: for `--help`, `version` and unknown flags.
        """
        flags = parse_command_line(list(self._options.values()), argv)
        flag = flags.pop("config_file", None)
        file = flag.text if flag else env.get("DET_CONFIG_FILE")
        self._add(_read_file(file or DEFAULT_FILE, is_explicit=bool(file)), ())
        for option, value in overrides(self._cls, env, flags):
            self._put(option.path, value.text)
            self._origins[f"root.{option.name}"] = value.source

    def build(self) -> Any:
        """Return the settings.

        Raises:
            SettingsError: with every error and its path.
        """
        if self._problems:
            problems = sorted(self._problems.items())
            raise SettingsError.of([(f"root.{n}", text) for n, text in problems], self._origins)
        return msgspec.convert(self.tree, self._cls)

    def _add(self, values: Mapping[str, Any], path: tuple[str, ...]) -> None:
        sections = {p[: len(path) + 1] for p in self._options if len(p) > len(path) + 1}
        for key, value in values.items():
            here = (*path, str(key))
            name = ".".join(here)
            if here in self._options:
                if value is not None:
                    self._put(here, value)
            elif here in sections:
                if isinstance(value, Mapping):
                    self._add(value, here)
                elif value is not None:
                    self.problem(name, "must be a map of options")
            elif name in self._ignored:
                self.warnings.append(f"{name} {self._ignored[name]}")
            elif name in self._refused:
                self.problem(name, self._refused[name])
            else:
                self.problem(name, self._unknown(here))

    def _put(self, path: tuple[str, ...], value: Any) -> None:
        option = self._options[path]
        try:
            read = msgspec.convert(_boolean_word(option, value), option.annotation, strict=False)
        except msgspec.ValidationError as error:
            words = option.words
            rule = f"must be one of {', '.join(words)}" if words else str(error)
            actual = "" if "token" in option.name else f" but found {str(value)[:80]!r}"
            self.problem(option.name, rule[0].lower() + rule[1:] + actual)
            return
        self._problems.pop(option.name, None)
        tree = self.tree
        for part in path[:-1]:
            tree = tree.setdefault(part, {})
        tree[path[-1]] = read

    def _unknown(self, path: tuple[str, ...]) -> str:
        siblings = [p[len(path) - 1] for p in self._options if p[: len(path) - 1] == path[:-1]]
        near = similar_option(path[-1], siblings)
        remedy = f"did you mean {near}?" if near else "remove it, or see --help for all options"
        return f"unknown option; {remedy}"


def _boolean_word(option: Option, value: Any) -> Any:
    """Translate a word for a boolean if the option is one."""
    if option.is_switch and isinstance(value, str):
        return _BOOLEAN_WORDS.get(value.lower(), value)
    return value


def _read_file(path: str, *, is_explicit: bool) -> dict[str, Any]:
    # Imported here: the parser takes a third of the agent's memory and is needed once.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    text = read_text(path, is_explicit=is_explicit)
    if text is None:
        return {}
    try:
        value = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise SettingsError(f"configuration file {path}: {_yaml_fault(error)}") from None
    return options_in(value, path)


def _yaml_fault(error: Exception) -> str:
    """Return fault and line of an error on one line, without values, which may be secret."""
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error).partition(" with value ")[0]
    line = f"line {mark.line + 1}: " if mark else ""
    return line + " ".join(problem.split())
