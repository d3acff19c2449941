"""`det experiment download`: the best checkpoints of an experiment."""

from __future__ import annotations

import argparse
import os

from determined.cli import connect, errors
from determined.cli.checkpoint.commands import fetch, truth
from determined.common.experimental.experiment import Experiment


def download(args: argparse.Namespace) -> None:
    """Copy the files of the best checkpoints, each into a directory of its own.

    Raises:
        CliError: there is no such checkpoint, or its files cannot be had.
    """
    if args.top_n < 1:
        raise errors.CliError(f"--top-n is {args.top_n}: it must be 1 or more")
    experiment = Experiment(args.experiment_id, connect.session(args))
    smaller = truth(args.smaller_is_better, "--smaller-is-better")
    try:
        best = experiment.top_n_checkpoints(args.top_n, args.sort_by, smaller)
    except ValueError as error:
        raise errors.CliError(str(error)) from None
    if not best:
        raise errors.CliError(
            f"experiment {args.experiment_id} has no checkpoint with a validation: see "
            f"'det experiment list-checkpoints {args.experiment_id}' for others"
        )
    if not args.quiet:
        print("Local checkpoint paths:")
    for found in best:
        where = os.path.join(args.output_dir, found.uuid)
        print(fetch(found, where, args), flush=True)
