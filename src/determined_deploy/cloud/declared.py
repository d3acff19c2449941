"""Declarations of options that the deployments to all clouds have."""

from __future__ import annotations

from determined.cli.arguments import at_least
from determined.cli.declare import arg, flag

NO_PROMPT = arg("--no-prompt", dest="yes", action="store_true", help="as --yes")
MASTER = (
    arg("--inbound-cidr", default="0.0.0.0/0", help="network that may reach the machines"),
    flag("--enable-cors", help="allow scripts of other web sites to call the master"),
    arg("--master-tls-cert", metavar="FILE", help="certificate chain, for HTTPS"),
    arg("--master-tls-key", metavar="FILE", help="its private key"),
    arg("--master-cert-name", help="name in the certificate, for agents"),
    arg("--master-config-template-path", metavar="FILE", help="template of its configuration"),
    arg("--wheelhouse", metavar="DIR", help="wheels for all machines, in place of an index"),
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
"""Of the master."""
AGENTS = (
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
)
"""Of the agents."""
