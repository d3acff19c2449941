"""The options of `set log-retention` of experiments and trials."""

from __future__ import annotations

import argparse

from determined.cli import errors
from determined.cli.declare import OneOf, arg, flag

OPTIONS = OneOf(
    (
        arg("--days", type=int, help="days to keep the logs after the end"),
        flag("--forever", help="keep the logs forever"),
    )
)


def days(args: argparse.Namespace) -> int:
    """The number of days; -1 means forever.

    Raises:
        CliError: no option is given, or the number is invalid.
    """
    if args.days is None and not args.forever:
        raise errors.CliError("give --days or --forever")
    number = -1 if args.forever else int(args.days)
    if number < -1:
        raise errors.CliError(f"--days is {number}: it must be -1 (forever), 0 or more")
    return number


def said(number: int) -> str:
    return "forever" if number == -1 else f"for {number} days"
