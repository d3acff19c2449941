"""`det deploy`: declarations of its commands."""

from __future__ import annotations

from determined.cli.arguments import YES
from determined.cli.declare import Command, OneOf, arg, flag
from determined_deploy.aws.declared import COMMAND as _AWS
from determined_deploy.gcp.declared import COMMAND as _GCP
from determined_deploy.gke import COMMAND as _GKE

_HERE = "determined_deploy"
_CLUSTER = arg("--cluster-name", default="determined", help="name for the cluster resources")
_VERSION = arg("--det-version", help="accepted for older scripts: the installed version runs")
_EDITION = flag("--enterprise-edition", help="accepted for older scripts: there is one edition")
_RESTART = flag("--no-autorestart", help="disable auto-restart (for local development)")
_IMAGES = arg(
    "--image-repo-prefix",
    default="determinedai",
    help="accepted for older scripts: no images",
)
_DELETE_DB = flag("--delete-db", help="remove current master database")
_GPU = (
    arg("--gpu", action="store_true", default=True, help="enable GPU support for agent"),
    arg("--no-gpu", dest="gpu", action="store_false", help="disable GPU support for agent"),
)
_KEPT_GPU = (
    arg(
        "--gpu",
        action="store_true",
        default=None,
        help="enable GPU support for agent (default: as at the last start, at first enabled)",
    ),
    arg("--no-gpu", dest="gpu", action="store_false", help="disable GPU support for agent"),
)
_MASTER = (
    OneOf(
        (
            arg("--master-config-path", help="path to master configuration"),
            arg("--storage-host-path", help="Storage location for checkpoints"),
        )
    ),
    arg(
        "--initial-user-password",
        help="Initial password for admin/determined users, on a new database",
    ),
    arg("--master-port", type=int, help="port to expose master on (default: 8080)"),
    arg("--listen", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)"),
    _CLUSTER,
    _VERSION,
    arg(
        "--db-password",
        default="postgres",
        help="accepted for older scripts: it is random",
    ),
    _DELETE_DB,
    _RESTART,
    arg("--auto-work-dir", help="the default work dir, used for interactive jobs"),
    arg(
        "--task-account",
        metavar="NAME",
        help="account of tasks if root starts the cluster (default: determined-task, created)",
    ),
    _EDITION,
    YES,
)

_LOCAL = Command(
    "local",
    "manage clusters on this machine",
    commands=(
        Command(
            "agent-down",
            "stop a Determined agent",
            f"{_HERE}.local.stop:agent_down",
            (
                arg("--agent-name", default="det-agent-vm", help="agent name"),
                flag("--all", help="stop all running agents"),
                _CLUSTER,
            ),
        ),
        Command(
            "agent-up",
            "start a Determined agent",
            f"{_HERE}.local.start:agent_up",
            (
                arg("master_host", help="master hostname"),
                arg("--master-port", type=int, default=8080, help="master port"),
                arg("--agent-config-path", help="path to agent configuration"),
                _VERSION,
                arg("--agent-name", default="det-agent-vm", help="agent name"),
                arg("--agent-resource-pool", help="agent resource pool"),
                *_GPU,
                _RESTART,
                _CLUSTER,
                _IMAGES,
                _EDITION,
            ),
        ),
        Command(
            "cluster-down",
            "stop a Determined cluster",
            f"{_HERE}.local.stop:cluster_down",
            (
                _CLUSTER,
                _DELETE_DB,
                flag("--keep-tasks", help="let tasks run until the next start takes them over"),
            ),
        ),
        Command(
            "cluster-up",
            "create a Determined cluster",
            f"{_HERE}.local.start:cluster_up",
            (
                *_MASTER,
                arg(
                    "--agents",
                    type=int,
                    help="number of agents to start (default: that of the last start, at first 1)",
                ),
                *_KEPT_GPU,
            ),
        ),
        Command(
            "logs",
            "show the logs of a Determined cluster",
            f"{_HERE}.local.logs:logs",
            (_CLUSTER, flag("--no-follow", help="disable following logs")),
        ),
        Command(
            "master-down",
            "stop a Determined master",
            f"{_HERE}.local.stop:master_down",
            (arg("--master-name", help="accepted for older scripts"), _DELETE_DB, _CLUSTER),
        ),
        Command(
            "master-up",
            "start a Determined master",
            f"{_HERE}.local.start:master_up",
            (*_MASTER, arg("--master-name", help="accepted for older scripts"), _IMAGES),
        ),
    ),
)

_RELEASE = (
    arg("--release", default="determined", help="name of the Helm release"),
    arg("-n", "--namespace", default="default", help="namespace of the release"),
    arg("--kubeconfig", metavar="FILE", help="kubeconfig of the cluster (default: Helm's)"),
    arg("--kube-context", metavar="NAME", help="context of the kubeconfig"),
)
_KUBERNETES = Command(
    "kubernetes|k8s",
    "manage clusters on Kubernetes",
    commands=(
        Command(
            "down",
            "uninstall a Determined cluster",
            f"{_HERE}.kubernetes.release:down",
            (*_RELEASE, flag("--delete-db", help="delete the database's volume too"), YES),
        ),
        Command(
            "up",
            "install or upgrade a Determined cluster",
            f"{_HERE}.kubernetes.release:up",
            (
                *_RELEASE,
                arg(
                    "-f",
                    "--values",
                    action="append",
                    default=[],
                    metavar="FILE",
                    help="values of the chart; may be repeated",
                ),
                arg(
                    "--set",
                    action="append",
                    default=[],
                    metavar="KEY=VALUE",
                    help="one value of the chart; may be repeated",
                ),
                flag("--dry-run", help="print the objects and change nothing"),
                flag("--no-wait", help="return before the master answers"),
                arg("--timeout", type=int, default=600, metavar="SECONDS", help="of the wait"),
            ),
        ),
    ),
)

NOUN = Command(
    "deploy|d",
    "manage deployments",
    args=(
        flag("--no-preflight-checks", help="accepted for older scripts"),
        flag("--no-wait-for-master", help="accepted for older scripts"),
    ),
    commands=(_AWS, _GCP, _GKE, _KUBERNETES, _LOCAL),
)
