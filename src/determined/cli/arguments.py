"""Arguments that many commands share: bounded numbers, and `--yes` with its prompt."""

from __future__ import annotations

import argparse
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
