"""`det deploy aws`: declarations of its commands."""

from __future__ import annotations

from determined.cli.arguments import YES, at_least
from determined.cli.declare import Command, arg, flag
from determined_deploy.aws.options import ELSEWHERE, TYPES
from determined_deploy.cloud import declared as shared

_HERE = "determined_deploy.aws"
_ID = arg("--cluster-id", required=True, help="unique name of the cluster, and of its stack")
_ACCOUNT = (
    arg("--region", help="AWS region (default: that of the profile)"),
    arg("--profile", help="AWS profile (default: that of the environment)"),
)
_TYPE = arg(
    "--deployment-type",
    choices=[*TYPES, *ELSEWHERE],
    default="simple-rds",
    help="simple: PostgreSQL on the master; simple-rds: RDS; vpc: RDS and a network of its own; "
    "efs: the same with shared files",
)
_AGENTS = (
    arg(
        "--compute-agent-instance-type",
        "--gpu-agent-instance-type",
        default="g4dn.xlarge",
        help="instance type of agents with slots",
    ),
    arg(
        "--aux-agent-instance-type",
        "--cpu-agent-instance-type",
        default="m6i.xlarge",
        help="instance type of agents without slots",
    ),
    arg(
        "--agent-image",
        metavar="AMI",
        help="machine image of agents with slots (default: Amazon's with NVIDIA's driver, or "
        "Ubuntu without GPUs)",
    ),
    arg("--agent-subnet-id", help="subnet of agents (default: any of the default VPC)"),
    *shared.AGENTS,
    flag("--spot", help="agents with slots are spot instances"),
    arg("--spot-max-price", help="dollars an hour (default: the on-demand price)"),
    arg("--agent-reattach-enabled", help="accepted for older scripts: agents always reattach"),
    flag("--update-terminate-agents", help="accepted for older scripts: agents run on"),
    flag("--no-update-terminate-agents", help="accepted for older scripts"),
)
_MASTER = (
    arg("--master-instance-type", default="m6i.large", help="of the master"),
    *shared.MASTER,
    arg(
        "--log-group-prefix",
        help="journals of all machines go to the group /PREFIX/CLUSTER-ID/journald of CloudWatch, "
        "and metrics of their load to the namespace Determined (default: neither)",
    ),
    flag("--retain-log-group", help="down leaves the group of the journals"),
    flag(
        "--skip-permission-check",
        help="do not ask IAM's simulator: CloudFormation names a missing permission in its events",
    ),
)
_DATA = (
    arg("--db-password", help="of the database (default: random)"),
    arg("--db-snapshot", default="", help="snapshot to start the database from"),
    arg("--db-instance-type", default="db.m7g.large", help="of RDS"),
    arg("--db-size", type=at_least(20), default=20, help="GB of the database"),
    arg("--efs-id", help="existing file system for type efs"),
)
_OLDER = (
    arg("--det-version", help="accepted for older scripts: the installed version is deployed"),
    arg("--fsx-id", help="accepted for older scripts"),
    flag("--enterprise-edition", help="accepted for older scripts: there is one edition"),
    arg("--docker-user", help="accepted for older scripts"),
    arg("--docker-pass", help="accepted for older scripts"),
    arg("--genai-version", help="accepted for older scripts"),
    arg("--genai-shared-fs-mount-path", help="accepted for older scripts"),
)

COMMAND = Command(
    "aws",
    "manage clusters on AWS",
    commands=(
        Command(
            "down",
            "delete a cluster",
            f"{_HERE}.down:down",
            (_ID, *_ACCOUNT, shared.NO_PROMPT, YES),
        ),
        Command(
            "dump-master-config-template",
            "print the template of the master's configuration",
            f"{_HERE}.resources.master_config:dump",
            (_TYPE,),
        ),
        Command(
            "list|ls", "list the clusters of a region", f"{_HERE}.down:list_clusters", _ACCOUNT
        ),
        Command(
            "policies",
            "print IAM policies for masters and agents, as JSON",
            f"{_HERE}.show_policies:show",
            (
                arg(
                    "policies",
                    nargs="*",
                    metavar="POLICY",
                    help="instances, fleets, spot, pass-role, storage, logs, log-group, metrics, "
                    "prices or up (default: the first three, and those that the options are for)",
                ),
                arg("--agent-role", metavar="ARN", help="role of the agents' instance profile"),
                arg("--bucket", metavar="NAME", help="bucket of the checkpoints"),
                arg("--cluster-id", metavar="NAME", help="cluster, for the policy up"),
                arg("--log-group", metavar="NAME", help="group of CloudWatch Logs"),
                arg(
                    "--tag",
                    metavar="KEY=VALUE",
                    help="tag_key and tag_value of the provider: without it, the policies let a "
                    "master end all machines",
                ),
            ),
        ),
        Command(
            "prices",
            "print the prices of instance types",
            f"{_HERE}.prices:show_prices",
            (
                arg(
                    "instance_types",
                    nargs="+",
                    metavar="TYPE",
                    help="such as g5.xlarge; the output is a prices_file of the master's settings",
                ),
                *_ACCOUNT,
            ),
        ),
        Command(
            "up",
            "create or change a cluster",
            f"{_HERE}.up:up",
            (
                _ID,
                arg("--keypair", required=True, help="EC2 key pair for ssh"),
                *_ACCOUNT,
                _TYPE,
                arg("--add-tag", action="append", metavar="KEY=VALUE", help="may be repeated"),
                *_MASTER,
                *_AGENTS,
                *_DATA,
                flag("--dry-run", help="print the stack's template and call nothing"),
                shared.NO_PROMPT,
                YES,
                *_OLDER,
            ),
        ),
    ),
)
