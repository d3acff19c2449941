"""Declarations of commands and arguments, and the argument parser built from them."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Mapping,
    NoReturn,
    Optional,
    Sequence,
    Tuple,
    Union,
)

_OF_AN_EXPERIMENT = {
    "trial": "det experiment list-trials <experiment_id>",
    "checkpoint": "det experiment list-checkpoints <experiment_id>",
}
_ELSEWHERE = {
    f"det {noun} {verb}": command
    for noun, command in _OF_AN_EXPERIMENT.items()
    for verb in ("list", "ls")
}
"""The command that lists trials or checkpoints, for the hint after a wrong one."""
_LEVELS = ("command", "subcommand", "subsubcommand", "subsubsubcommand")
Run = Callable[[argparse.Namespace], Optional[int]]
"""The function of a command; it returns an exit status, or None for 0."""


@dataclasses.dataclass(frozen=True)
class Arg:
    """One positional argument or option, as `add_argument` takes it."""

    flags: Tuple[str, ...]
    options: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class OneOf:
    """Mutually exclusive options."""

    args: Tuple[Arg, ...]


@dataclasses.dataclass(frozen=True)
class Command:
    """A command, or a group of commands when it has `commands`.

    `names` holds the name and its aliases, separated by `|`. `help` also completes the sentence
    "Failed to …". `run` is `module:function`, imported when the command runs. `is_default`
    marks the command that a group runs when the command line names none.
    """

    names: str
    help: str
    run: str = ""
    args: Tuple[Union[Arg, OneOf], ...] = ()
    commands: Tuple[Command, ...] = ()
    is_default: bool = False

    @property
    def name(self) -> str:
        return self.names.split("|")[0]

    @property
    def aliases(self) -> Sequence[str]:
        return self.names.split("|")[1:]


def arg(*flags: str, **options: Any) -> Arg:
    """An argument: flags or a name, and the options of `add_argument`."""
    return Arg(flags, options)


def flag(*flags: str, **options: Any) -> Arg:
    """An option without a value, false unless given."""
    return Arg(flags, {"action": "store_true", **options})


MAX_USAGE_LINES = 8
"""Of a mistake's output: a longer usage has only what must be given."""
_NUMBERS: Dict[Any, str] = {int: "a whole number", float: "a number"}


class Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest known word for a mistyped one. Its subparsers do too."""

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit with the usage and the known options nearest to the unknown ones."""
        flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
        near = map(self._option_like, flags)
        self.error(f"unrecognized arguments: {' '.join(unknown)}{_hint(near)}")

    def error(self, message: str) -> NoReturn:
        """Exit with 2 and the message, below a usage that leaves it on the screen."""
        usage = self.format_usage()
        if usage.count("\n") > MAX_USAGE_LINES:
            formatter = self.formatter_class(prog=self.prog)
            needed = [a for a in self._actions if a.required or not a.option_strings]
            formatter.add_usage(None, needed, [])
            usage = f"{formatter.format_help().rstrip()} ... ({self.prog} --help lists options)\n"
        self.exit(2, f"{usage}{self.prog}: error: {message}\n")

    def _option_like(self, flag: str) -> str:
        """The option with the most similar prefix: a prefix is enough to select one."""
        names = (name for action in self._actions for name in action.option_strings)
        by_prefix = {name[: len(flag) + 1]: name for name in names}
        return by_prefix.get(_nearest(flag, by_prefix), "")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            noun = _NUMBERS.get(action.type)
            if noun is None:
                raise
            text = f"must be {noun}, but found {arg_string!r}"
            raise argparse.ArgumentError(action, text) from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = _ELSEWHERE.get(f"{self.prog} {value}") or _nearest(
                str(value), map(str, action.choices or ())
            )
            raise argparse.ArgumentError(action, f"{error.message}{_hint([near])}") from None


def add(parser: argparse.ArgumentParser, command: Command, depth: int = 0) -> None:
    """Give a parser the arguments and subcommands of a command."""
    for item in command.args:
        if isinstance(item, OneOf):
            group = parser.add_mutually_exclusive_group()
            for one in item.args:
                group.add_argument(*one.flags, **one.options)
        else:
            parser.add_argument(*item.flags, **item.options)
    if not command.commands:
        parser.set_defaults(run=command.run, doing=command.help, parser=parser)
        return
    parser.set_defaults(run="", parser=parser, default_command=_default_of(command))
    children = add_children(parser, depth)
    add_help(children)
    for child in command.commands:
        add(add_child(children, child), child, depth + 1)


def add_children(parser: argparse.ArgumentParser, depth: int) -> Any:
    """The subparsers action of a parser `depth` levels below `det`."""
    level = _LEVELS[depth]
    return parser.add_subparsers(dest=level, metavar=level, title="commands")


def add_child(children: Any, command: Command) -> argparse.ArgumentParser:
    """An empty parser for one subcommand."""
    options: Dict[str, Any] = {"help": command.help, "formatter_class": HelpFormatter}
    parser: argparse.ArgumentParser = children.add_parser(
        command.name, aliases=command.aliases, description=command.help, **options
    )
    return parser


def add_help(children: Any) -> None:
    """Add the `help` subcommand, which prints the help of its group."""
    help_text = "show help for this command"
    children.add_parser("help", help=help_text, add_help=False).set_defaults(run="help")


def warn(text: str) -> None:
    """Print a message on stderr."""
    print(text, file=sys.stderr)


def load(run: str) -> Run:
    """The function that `module:function` names."""
    module, _, function = run.partition(":")
    handler: Run = getattr(importlib.import_module(module), function)
    return handler


class HelpFormatter(argparse.HelpFormatter):
    """Appends the default value to the help of an option, if it has one."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        # Compare by identity: the defaults 1 and 0 equal True and False, but must be shown.
        hidden = (None, False, True, argparse.SUPPRESS)
        silent = any(action.default is value for value in hidden) or action.default == []
        if silent or "%(default)" in text:
            return text
        return text + " (default: %(default)s)"


def _default_of(command: Command) -> str:
    return next((child.name for child in command.commands if child.is_default), "")


def _nearest(word: str, options: Iterable[str]) -> str:
    import difflib  # imported only after a mistake

    names = list(options)
    begun = [name for name in names if word and name.startswith(word)]
    near = difflib.get_close_matches(word, names, 1) or (begun if len(begun) == 1 else [])
    return next(iter(near), "")


def _hint(near: Iterable[str]) -> str:
    hint = " ".join(word for word in near if word)
    return f"; did you mean {hint}?" if hint else ""
