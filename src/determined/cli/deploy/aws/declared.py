"""`det deploy aws`: declarations of its commands."""

from __future__ import annotations

from determined.cli.arguments import YES, at_least
from determined.cli.declare import Command, arg, flag
from determined.cli.deploy.aws.options import ELSEWHERE, TYPES

_HERE = "determined.cli.deploy.aws"
_ID = arg("--cluster-id", required=True, help="unique name of the cluster, and of its stack")
_ACCOUNT = (
    arg("--region", help="AWS region (default: that of the profile)"),
    arg("--profile", help="AWS profile (default: that of the environment)"),
)
_PROMPT = arg("--no-prompt", dest="yes", action="store_true", help="as --yes")
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
        help="instance type of agents with slots (default: g4dn.xlarge)",
    ),
    arg(
        "--aux-agent-instance-type",
        "--cpu-agent-instance-type",
        default="m6i.xlarge",
        help="instance type of agents without slots (default: m6i.xlarge)",
    ),
    arg("--agent-subnet-id", help="subnet of agents (default: any of the default VPC)"),
    arg("--min-dynamic-agents", type=at_least(0), default=0, help="minimum of agents with slots"),
    arg("--max-dynamic-agents", type=at_least(1), default=5, help="maximum of agents of a pool"),
    arg(
        "--max-aux-containers-per-agent",
        "--max-cpu-containers-per-agent",
        type=at_least(1),
        default=16,
        help="tasks without slots that an agent runs at once",
    ),
    arg("--max-idle-agent-period", default="10m", help="how long an agent may be idle"),
    arg("--max-agent-starting-period", default="20m", help="how long an agent may take to start"),
    flag("--spot", help="agents with slots are spot instances"),
    arg("--spot-max-price", help="dollars an hour (default: the on-demand price)"),
    arg("--agent-reattach-enabled", help="accepted for older scripts: agents always reattach"),
    arg("--agent-reconnect-attempts", type=at_least(0), default=5, help="of a lost agent"),
    arg("--agent-reconnect-backoff", type=at_least(0), default=5, help="seconds between them"),
    arg(
        "--shut-down-agents-on-connection-loss",
        action="store_true",
        default=True,
        help="an agent that has lost its master shuts its machine down (the default)",
    ),
    arg(
        "--no-shut-down-agents-on-connection-loss",
        dest="shut_down_agents_on_connection_loss",
        action="store_false",
        help="the machine continues to run",
    ),
    flag("--update-terminate-agents", help="accepted for older scripts: agents run on"),
    flag("--no-update-terminate-agents", help="accepted for older scripts"),
)
_MASTER = (
    arg("--master-instance-type", default="m6i.large", help="(default: m6i.large)"),
    arg("--inbound-cidr", default="0.0.0.0/0", help="network that may reach the machines"),
    flag("--enable-cors", help="allow scripts of other web sites to call the master"),
    arg("--master-tls-cert", metavar="FILE", help="certificate chain, for HTTPS"),
    arg("--master-tls-key", metavar="FILE", help="its private key"),
    arg("--master-cert-name", help="name in the certificate, for agents"),
    arg("--master-config-template-path", metavar="FILE", help="template of its configuration"),
    arg("--initial-user-password", help="of admin and determined (default: random, printed)"),
    arg("--notebook-timeout", type=at_least(1), help="seconds until an idle notebook ends"),
    arg(
        "--scheduler-type",
        choices=["fair_share", "priority", "round_robin"],
        help="(default: priority)",
    ),
    arg("--preemption-enabled", choices=["true", "false"], default="false", help="of tasks"),
    arg("--cpu-env-image", help="default image of tasks without GPUs"),
    arg("--gpu-env-image", help="default image of tasks with GPUs"),
)
_DATA = (
    arg("--db-password", help="of the database (default: random)"),
    arg("--db-snapshot", default="", help="snapshot to start the database from"),
    arg("--db-instance-type", default="db.m7g.large", help="of RDS (default: db.m7g.large)"),
    arg("--db-size", type=at_least(20), default=20, help="GB of the database (default: 20)"),
    arg("--efs-id", help="existing file system for type efs"),
)
_OLDER = (
    arg("--det-version", help="accepted for older scripts: the installed version is deployed"),
    arg("--fsx-id", help="accepted for older scripts"),
    arg("--log-group-prefix", help="accepted for older scripts"),
    flag("--retain-log-group", help="accepted for older scripts"),
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
        Command("down", "delete a cluster", f"{_HERE}.down:down", (_ID, *_ACCOUNT, _PROMPT, YES)),
        Command(
            "dump-master-config-template",
            "print the template of the master's configuration",
            f"{_HERE}.master_config:dump",
            (_TYPE,),
        ),
        Command(
            "list|ls", "list the clusters of a region", f"{_HERE}.down:list_clusters", _ACCOUNT
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
                _PROMPT,
                YES,
                *_OLDER,
            ),
        ),
    ),
)
