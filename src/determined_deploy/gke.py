"""`det deploy gke`: it names its replacement, and accepts the options of scripts."""

from __future__ import annotations

import argparse

from determined.cli import errors
from determined.cli.declare import Command, arg, flag

_HERE = "determined_deploy.gke"
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
    place = f"--zone {args.zone or 'us-west1-b'}"
    machines = f"--machine-type {args.agent_machine_type or 'n1-standard-32'}"
    most = args.max_cpu_nodes if args.cpu_only else args.max_gpu_nodes
    if not args.cpu_only:
        gpus = f"type={args.gpu_type or 'nvidia-tesla-t4'},count={args.gpus_per_node or 4}"
        machines += f" --accelerator {gpus},gpu-driver-version=default"
    raise errors.CliError(
        "det makes no cluster of GKE in this version. Make one with gcloud, then install on it "
        "with Helm:\n"
        f"  gcloud container clusters create {args.cluster_id} {place} --num-nodes 1 "
        f"--machine-type {args.master_machine_type or 'n1-standard-16'}\n"
        f"  gcloud container node-pools create tasks --cluster {args.cluster_id} {place} "
        f"{machines} --num-nodes 0 --enable-autoscaling --min-nodes 0 --max-nodes {most or 4}\n"
        f"  gcloud container clusters get-credentials {args.cluster_id} {place}\n"
        "  det deploy kubernetes up --values values.yaml\n"
        "docs/deploy-kubernetes.md describes the values"
    )


def down(args: argparse.Namespace) -> None:
    """Raise an error with the commands that do the same."""
    raise errors.CliError(
        "det deletes no cluster of GKE in this version. Remove the installation, then the "
        "cluster:\n"
        "  det deploy kubernetes down\n"
        f"  gcloud container clusters delete {args.cluster_id}"
    )


COMMAND = Command(
    "gke|gke-experimental",
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
