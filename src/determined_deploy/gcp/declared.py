"""`det deploy gcp`: declarations of its commands."""

from __future__ import annotations

from determined.cli.arguments import YES, at_least
from determined.cli.declare import Command, OneOf, arg, flag
from determined_deploy.cloud import declared as shared

_HERE = "determined_deploy.gcp"
_OLDER = "accepted for older scripts"
_PROJECT = arg("--project-id", help="GCP project (default: that of the credentials)")
_KEYPATH = arg(
    "--keypath", metavar="FILE", help="key of a service account (default: gcloud's login)"
)
_STATE = (
    arg("--local-state-path", help=f"{_OLDER}: there is no state file"),
    arg("--tf-state-gcs-bucket-name", help=f"{_OLDER}: there is no state file"),
)
_BOOL = {"choices": ["true", "false"], "type": str.lower}
_AGENTS = (
    arg(
        "--compute-agent-instance-type",
        "--gpu-agent-instance-type",
        default="n1-standard-32",
        help="machine type of agents with slots",
    ),
    arg(
        "--aux-agent-instance-type",
        "--cpu-agent-instance-type",
        default="n1-standard-4",
        help="machine type of agents without slots",
    ),
    arg("--gpu-type", default="nvidia-tesla-t4", help="GPUs of agents"),
    arg("--gpu-num", type=at_least(0), default=4, help="GPUs of an agent; 0 for none"),
    arg("--preemptible", **_BOOL, default="false", help="GCP may reclaim agents with slots"),
    arg("--disk-size", type=at_least(100), default=200, help="GB of an agent"),
    arg(
        "--disk-type",
        help="of an agent (default: pd-standard, or what the machine type takes instead)",
    ),
    arg("--environment-image", help="machine image of agents with slots (default: Google's)"),
    arg("--operation-timeout-period", default="5m", help="how long a launch is followed"),
    arg("--filestore-address", default="", help="shared files of tasks, as ADDRESS:/SHARE"),
    flag("--no-filestore", help="without shared files (the default)"),
    arg("--min-cpu-platform-agent", help=f"{_OLDER}: the machine type decides"),
    *shared.AGENTS,
)
_MASTER = (
    arg("--master-instance-type", default="n1-standard-2", help="of the master"),
    arg("--min-cpu-platform-master", help="(default: Intel Skylake for n1)"),
    arg("--port", type=int, help="of the master (default: 8080; 8443 with TLS)"),
    arg("--db-size", type=at_least(20), default=20, help="GB of the database"),
    arg("--db-snapshot", default="", help="snapshot of a disk to start the database from"),
    arg("--db-password", help=f"{_OLDER}: the database is on the master's machine alone"),
    arg("--det-version", help=f"{_OLDER}: the installed version is deployed"),
    flag(
        "--cloud-logging",
        help="journals of all machines go to Cloud Logging, and metrics of their load to Cloud "
        "Monitoring, which Google bills (default: neither)",
    ),
    *shared.MASTER,
)

COMMAND = Command(
    "gcp",
    "manage clusters on GCP",
    commands=(
        Command(
            "down",
            "delete a cluster",
            f"{_HERE}.down:down",
            (
                arg("--cluster-id", help="name of the cluster"),
                _PROJECT,
                _KEYPATH,
                *_STATE,
                shared.NO_PROMPT,
                YES,
            ),
        ),
        Command(
            "dump-master-config-template",
            "print the template of the master's configuration",
            f"{_HERE}.resources.master_config:dump",
        ),
        Command(
            "list|ls",
            "list the clusters of a project",
            f"{_HERE}.listing:list_clusters",
            (
                _PROJECT,
                _KEYPATH,
                _STATE[1],
                OneOf(
                    (flag("--json", help="print as JSON"), flag("--yaml", help="print as YAML"))
                ),
            ),
        ),
        Command(
            "up",
            "create or change a cluster",
            f"{_HERE}.up:up",
            (
                arg("--cluster-id", required=True, help="unique name of the cluster"),
                arg("--project-id", required=True, help="GCP project"),
                _KEYPATH,
                arg("--region", default="us-west1", help="of all machines"),
                arg("--zone", help="(default: zone b of the region)"),
                arg(
                    "--network",
                    help="created if it is missing (default: one of the cluster); "
                    "projects/PROJECT/global/networks/NAME for one that another project shares",
                ),
                arg(
                    "--add-label",
                    dest="add_tag",
                    action="append",
                    metavar="KEY=VALUE",
                    help="may be repeated",
                ),
                *_MASTER,
                *_AGENTS,
                flag("--dry-run", help="print all requests and call nothing"),
                shared.NO_PROMPT,
                YES,
                *_STATE,
            ),
        ),
    ),
)
