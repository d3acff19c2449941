"""`det deploy kubernetes up` and `down`: a release of the chart, by Helm."""

from __future__ import annotations

import argparse
import pathlib
from typing import List

from determined.cli import arguments, errors
from determined.cli.deploy.kubernetes import chart, helm


def up(args: argparse.Namespace) -> None:
    """Install the chart, or upgrade the release; with --dry-run print the objects."""
    for name in args.values:
        if not pathlib.Path(name).is_file():
            raise errors.CliError(f"--values {name}: there is no such file")
    values = [word for name in args.values for word in ("--values", name)]
    values += [word for pair in args.set for word in ("--set", pair)]
    directory = str(chart.chart_directory())
    if args.dry_run:
        helm.run(["template", args.release, directory, "--namespace", args.namespace, *values])
        return
    waiting = [] if args.no_wait else ["--wait", "--timeout", f"{args.timeout}s"]
    install = ["upgrade", args.release, directory, "--install", "--create-namespace"]
    helm.run([*install, *_cluster(args), *values, *waiting])


def down(args: argparse.Namespace) -> None:
    """Uninstall the release. The database's volume stays unless --delete-db is given."""
    question = f"Uninstall '{args.release}' of namespace '{args.namespace}'"
    if args.delete_db:
        question += " and delete its database"
    arguments.confirm(args, f"{question}?")
    if args.delete_db:
        # Helm deletes what the last manifest of the release does not ask to keep.
        directory = str(chart.chart_directory())
        kept = ["--reset-then-reuse-values", "--set", "db.keepVolume=false"]
        helm.run(["upgrade", args.release, directory, *_cluster(args), *kept])
    helm.run(["uninstall", args.release, *_cluster(args), "--wait"])
    if not args.delete_db:
        print(
            "The database's volume and passwords stay, for the next `det deploy kubernetes up`; "
            "a later one with `down --delete-db` removes them."
        )


def _cluster(args: argparse.Namespace) -> List[str]:
    """Options that choose the cluster and its namespace."""
    options = ["--namespace", args.namespace]
    if args.kubeconfig:
        options += ["--kubeconfig", args.kubeconfig]
    if args.kube_context:
        options += ["--kube-context", args.kube_context]
    return options
