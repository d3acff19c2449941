"""`det deploy gke-experimental`: it names its replacement, and accepts the options of scripts."""

from __future__ import annotations

import argparse

from determined.cli import errors
from determined.cli.declare import Command, arg, flag

_HERE = "determined.cli.deploy.gke"
_OLDER = "accepted for older scripts"
_WITH_VALUE = (
    ("--agent-node-pool-name", "--gpu-node-pool-name"),
    ("--gpu-type",),
    ("--gpus-per-node",),
    ("--helm-dir",),
    ("--det-version",),
    ("--zone",),
    ("--master-machine-type",),
    ("--agent-machine-type", "--machine-type"),
    ("--max-gpu-nodes", "--max-nodes"),
    ("--max-cpu-nodes",),
    ("--cpu-node-pool-name",),
)
_FLAGS = (
    ("--cpu-only",),
    ("--multiple-node-pools",),
    ("--gpu-coscheduler", "--coscheduler"),
    ("--preemption", "--preemptive-scheduler"),
)
_BOTH = (
    arg("--cluster-id", default="NAME", help="name of the cluster of GKE"),
    arg("--gcs-bucket-name", help=_OLDER),
    flag("--no-managed-bucket", help=_OLDER),
)


def up(args: argparse.Namespace) -> None:
    """Raise an error with the commands that do the same."""
    zone = args.zone or "us-west1-b"
    raise errors.CliError(
        "this command does not exist in this version. Make a cluster of GKE, then install on it:\n"
        f"  gcloud container clusters create {args.cluster_id} --zone {zone}\n"
        "  det deploy kubernetes up --values values.yaml\n"
        "docs/deploy-kubernetes.md describes the values"
    )


def down(args: argparse.Namespace) -> None:
    """Raise an error with the commands that do the same."""
    raise errors.CliError(
        "this command does not exist in this version. Remove the installation, then the cluster:\n"
        "  det deploy kubernetes down\n"
        f"  gcloud container clusters delete {args.cluster_id}"
    )


COMMAND = Command(
    "gke-experimental",
    "replaced: use GKE's clusters with det deploy kubernetes",
    commands=(
        Command(
            "down",
            "delete a cluster",
            f"{_HERE}:down",
            (*_BOTH, arg("--region", help=_OLDER)),
        ),
        Command(
            "up",
            "create a cluster",
            f"{_HERE}:up",
            (
                *_BOTH,
                *(arg(*names, help=_OLDER) for names in _WITH_VALUE),
                *(flag(*names, help=_OLDER) for names in _FLAGS),
            ),
        ),
    ),
)
