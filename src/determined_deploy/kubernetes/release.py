"""`det deploy kubernetes up` and `down`: a release of the chart, by Helm."""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
from typing import List

from determined.cli import arguments, errors
from determined_deploy.kubernetes import chart, helm

_TELLING = re.compile(r"==> v1/(Pod|Service\b|PersistentVolumeClaim)")
"""Titles in `helm status` of the objects that may keep a release from being ready."""


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
    try:
        helm.run([*install, *_cluster(args), *values, *waiting])
    except errors.CliError as error:
        unfinished = _unfinished(args)
        if not unfinished:
            raise _with_cluster(args, error) from None
        print(f"\n{unfinished}", file=sys.stderr)
        raise errors.CliError(f"{error}\n{_remedies(args)}") from None


def down(args: argparse.Namespace) -> None:
    """Uninstall the release. The database's volume stays unless --delete-db is given."""
    question = f"Uninstall '{args.release}' of namespace '{args.namespace}'"
    if args.delete_db:
        question += " and delete its database"
    arguments.confirm(args, f"{question}?")
    try:
        _uninstall(args)
    except errors.CliError as error:
        if not _is_missing(args):
            raise _with_cluster(args, error) from None
        raise errors.CliError(
            f"there is no release '{args.release}' in namespace '{args.namespace}': look at `helm "
            "list --all-namespaces`, and give --release and --namespace. A database that an "
            "earlier `down` has left is removed by `det deploy kubernetes up` and then "
            "`down --delete-db`"
        ) from None
    if not args.delete_db:
        print(
            "The database's volume and passwords stay, for the next `det deploy kubernetes up`. "
            "To remove them, run `up` and then `down --delete-db`."
        )


def _uninstall(args: argparse.Namespace) -> None:
    if args.delete_db:
        # Helm deletes what the last manifest of the release does not ask to keep.
        directory = str(chart.chart_directory())
        values = ["--reset-then-reuse-values", "--set", "db.keepVolume=false"]
        helm.run(["upgrade", args.release, directory, *_cluster(args), *values])
    # Pods too are gone then: a database that still stops must not meet the next one.
    helm.run(["uninstall", args.release, *_cluster(args), "--wait", "--cascade", "foreground"])


def _is_missing(args: argparse.Namespace) -> bool:
    """Whether the cluster answers, and has no such release."""
    output = helm.read(["list", "--all", "--filter", f"^{args.release}$", *_cluster(args)])
    return output.startswith("NAME") and len(output.splitlines()) == 1


def _with_cluster(args: argparse.Namespace, error: errors.CliError) -> errors.CliError:
    """The error, with the remedy if the cause is that no cluster answers."""
    if not helm.finds_no_cluster(["list", *_cluster(args)]):
        return error
    return errors.CliError(
        f"{error}. No Kubernetes cluster answers: set KUBECONFIG, or give --kubeconfig and "
        "--kube-context, until `kubectl cluster-info` works"
    )


def _unfinished(args: argparse.Namespace) -> str:
    """Pods, Services and volumes of the release: some of them were not ready.

    Empty where there is no release, or Helm has not begun to change it.
    """
    output = helm.read(["status", args.release, *_cluster(args), "--show-resources"])
    if "STATUS: deployed" in output:
        return ""
    sections = output.split("\n\n")
    return "\n\n".join(one for one in sections if _TELLING.search(one))


def _remedies(args: argparse.Namespace) -> str:
    namespace = f"--namespace {args.namespace}"
    return (
        "The objects above are as the release has them now. Why a pod is not ready:\n"
        f"  kubectl {namespace} describe pods -l release-namespace={args.namespace}\n"
        f"  kubectl {namespace} logs -l app=determined-master-{args.release}\n"
        "Run `det deploy kubernetes up` again when that is mended. The release before this one:\n"
        f"  helm {namespace} rollback {args.release}"
    )


def _cluster(args: argparse.Namespace) -> List[str]:
    """Options that choose the cluster and its namespace."""
    options = ["--namespace", args.namespace]
    if args.kubeconfig:
        options += ["--kubeconfig", args.kubeconfig]
    if args.kube_context:
        options += ["--kube-context", args.kube_context]
    return options
