"""Arguments that many commands share: bounded numbers, and `--yes` with its prompt."""

from __future__ import annotations

import argparse
import datetime
import sys
from typing import Callable

from determined.cli import errors
from determined.cli.declare import flag

YES = flag("--yes", help="automatically answer yes to prompts")
"""The option of every command that asks for confirmation."""


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option that takes a whole number of at least `least`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return number

    return read


def seconds(text: str) -> float:
    """The type of an option that takes a positive number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return number


def instant(text: str) -> str:
    """The type of an argument that is a time in UTC; a date is its first instant."""
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return text  # the master validates times
    return f"{text}T00:00:00Z"


def confirm(args: argparse.Namespace, question: str) -> None:
    """Ask for confirmation, unless `--yes` is given.

    Raises:
        CliError: the answer is not yes.
    """
    if args.yes:
        return
    print(f"{question} [y/N]: ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise errors.CliError("aborted; nothing was changed")
