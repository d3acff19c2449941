"""`det experiment download`: downloads the best checkpoints of an experiment."""

from __future__ import annotations

import argparse
import os

from determined.cli import connect, errors
from determined.cli.checkpoint.commands import fetch, truth
from determined.common.experimental.experiment import Experiment


def download(args: argparse.Namespace) -> None:
    """Download the best checkpoints, each into its own directory.

    Raises:
        CliError: the experiment has no such checkpoint, or a download failed.
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
            f"experiment {args.experiment_id} has no checkpoint with a validation; "
            f"'det experiment list-checkpoints {args.experiment_id}' lists all checkpoints"
        )
    if not args.quiet:
        print("Local checkpoint paths:")
    for checkpoint in best:
        where = os.path.join(args.output_dir, checkpoint.uuid)
        print(fetch(checkpoint, where, args), flush=True)
