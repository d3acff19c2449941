"""Options of `det deploy aws up`, checked before anything is called."""

from __future__ import annotations

import argparse
import dataclasses
import re
from typing import Optional

from determined.cli import errors
from determined_deploy.aws import machine_rules
from determined_deploy.cloud.options import ClusterOptions, common

TYPES = ("simple", "simple-rds", "vpc", "efs")
ELSEWHERE = {
    "secure": "use vpc with --inbound-cidr for the networks that may reach the master",
    "fsx": "use efs, or bind-mount a file system of your own with --master-config-template-path",
    "govcloud": "use vpc with --region and a profile of that partition",
    "genai": "that product is not part of this version",
}
"""Types of 0.38.1 that are not built, and what to use."""
_LOG_PREFIX = re.compile(r"/?[a-zA-Z0-9._#-][a-zA-Z0-9._/#-]{0,198}")
_IMAGE = re.compile(r"ami-[0-9a-f]{8,17}")
_CLUSTER_ID = re.compile(r"[a-zA-Z][a-zA-Z0-9-]{0,49}")


@dataclasses.dataclass(frozen=True)
class Options(ClusterOptions):
    """A cluster; sizes in GB, periods as the master's settings take them."""

    keypair: str
    deployment_type: str
    agent_subnet_id: str
    agent_image: str
    """Of agents with slots; empty for the one that fits their instance type."""
    spot: bool
    spot_max_price: Optional[str]
    database_type: str
    efs_id: str
    log_group: str
    """Of CloudWatch Logs; empty for none."""
    keeps_logs: bool
    asks_simulator: bool
    """Whether IAM's simulator checks permissions first."""

    @property
    def stack(self) -> str:
        """The name of its stack."""
        return self.cluster_id

    @property
    def has_own_network(self) -> bool:
        """Whether the stack has a network of its own; else it lies in the default one."""
        return self.deployment_type in ("vpc", "efs")

    @property
    def has_rds(self) -> bool:
        """Whether RDS runs the database; else the master does, on a disk of its own."""
        return self.deployment_type != "simple"

    @property
    def has_efs(self) -> bool:
        """Whether agents mount a file system that they share."""
        return self.deployment_type == "efs"


def read(args: argparse.Namespace) -> Options:
    """The options of a command line.

    Raises:
        CliError: a value cannot be used; the text names it and the remedy.
    """
    _check(args)
    return Options(
        **common(args, None, "--add-tag"),
        keypair=args.keypair,
        deployment_type=args.deployment_type,
        agent_subnet_id=args.agent_subnet_id or "",
        agent_image=args.agent_image or "",
        spot=args.spot,
        spot_max_price=args.spot_max_price,
        database_type=args.db_instance_type,
        efs_id=args.efs_id or "",
        log_group=_log_group(args.log_group_prefix, args.cluster_id),
        keeps_logs=args.retain_log_group,
        asks_simulator=not args.skip_permission_check,
    )


def _check(args: argparse.Namespace) -> None:
    if args.deployment_type in ELSEWHERE:
        raise errors.CliError(
            f"--deployment-type {args.deployment_type} does not exist in this version: "
            f"{ELSEWHERE[args.deployment_type]}"
        )
    if not _CLUSTER_ID.fullmatch(args.cluster_id):
        raise errors.CliError(
            f"--cluster-id {args.cluster_id!r} must start with a letter and have at most 50 "
            "letters, digits and hyphens"
        )
    if args.agent_subnet_id and args.deployment_type in ("vpc", "efs"):
        raise errors.CliError(
            f"--agent-subnet-id {args.agent_subnet_id}: {args.deployment_type} makes subnets of "
            "its own; use --deployment-type simple or simple-rds"
        )
    if args.agent_image and not _IMAGE.fullmatch(args.agent_image):
        raise errors.CliError(
            f"--agent-image {args.agent_image!r} is not the id of a machine image, such as "
            "ami-0123456789abcdef0"
        )
    if not args.agent_image:
        machine_rules.check_driver(
            "--compute-agent-instance-type", args.compute_agent_instance_type
        )
    if args.efs_id and args.deployment_type != "efs":
        raise errors.CliError(f"--efs-id {args.efs_id} needs --deployment-type efs")


def _log_group(prefix: Optional[str], cluster_id: str) -> str:
    """The group of the machines' journals: `/PREFIX/CLUSTER-ID/journald`."""
    if not prefix:
        return ""
    if not _LOG_PREFIX.fullmatch(prefix):
        raise errors.CliError(
            f"--log-group-prefix {prefix!r} must have at most 200 letters, digits and the "
            "characters . - _ / #, such as /determined"
        )
    return f"/{prefix.strip('/')}/{cluster_id}/journald"
