"""`det tensorboard`: starts TensorBoards for experiments and trials."""

from __future__ import annotations

import argparse

from determined.cli import errors
from determined.cli.declare import Command, arg
from determined.cli.interactive import browser, kinds

_PAGE = "determined.cli.interactive.browser"
_KIND = kinds.TENSORBOARD

NOUN = Command(
    "tensorboard",
    "manage TensorBoards",
    commands=(
        *kinds.shared_commands(_KIND),
        Command("open", "open TensorBoard", f"{_PAGE}:open_one", (kinds.id_argument(_KIND),)),
        Command(
            "start",
            "start TensorBoard",
            "determined.cli.interactive.tensorboard:start",
            (
                arg(
                    "experiment_ids",
                    type=int,
                    nargs="*",
                    help="experiments to show with all of their trials",
                ),
                arg("-t", "--trial-ids", type=int, nargs="+", help="trials to show"),
                *kinds.launch_arguments(_KIND, with_volumes=False),
                browser.no_browser_argument(),
                kinds.detach_argument(),
            ),
        ),
    ),
)


def start(args: argparse.Namespace) -> None:
    """Start a TensorBoard and open it in a browser when it is ready.

    Raises:
        CliError: neither an experiment nor a trial is given.
    """
    if not (args.experiment_ids or args.trial_ids):
        raise errors.CliError(
            "nothing to show: give experiment IDs, or trial IDs with --trial-ids"
        )
    browser.start(args, {"experimentIds": args.experiment_ids or None, "trialIds": args.trial_ids})
