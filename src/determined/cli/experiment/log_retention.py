"""How long logs are kept, as `set log-retention` of experiments and trials takes it."""

from __future__ import annotations

import argparse

from determined.cli import errors
from determined.cli.declare import OneOf, arg, flag

OPTIONS = OneOf(
    (
        arg("--days", type=int, help="days for which the logs are kept after the end"),
        flag("--forever", help="keep the logs for ever"),
    )
)


def days(args: argparse.Namespace) -> int:
    """The number of days; -1 is for ever.

    Raises:
        CliError: none is given, or it cannot be.
    """
    if args.days is None and not args.forever:
        raise errors.CliError("give --days or --forever")
    number = -1 if args.forever else int(args.days)
    if number < -1:
        raise errors.CliError(f"--days is {number}: it must be -1 (for ever), 0 or more")
    return number


def said(number: int) -> str:
    """The same in words."""
    return "for ever" if number == -1 else f"for {number} days"
