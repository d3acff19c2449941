"""Asking before something is lost for good."""

from __future__ import annotations

import argparse
import sys

from determined.cli import errors
from determined.cli.declare import flag

YES = flag("--yes", help="automatically answer yes to prompts")
"""The option of every command that asks."""


def confirm(args: argparse.Namespace, question: str) -> None:
    """Ask, unless `--yes` was given.

    Raises:
        CliError: the answer is not yes.
    """
    if args.yes:
        return
    print(f"{question} [y/N]: ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise errors.CliError("aborted; nothing was changed")
