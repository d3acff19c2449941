"""The files and directories of a local cluster."""

import dataclasses
import os
import pathlib
import re
from typing import Tuple

from determined.cli import errors

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")


@dataclasses.dataclass(frozen=True)
class ClusterLayout:
    """The directory of one cluster and its files. Uses the standard library only.

    `specs` holds a JSON file for each process to run, `status` one for each process that the
    supervisor has started.
    """

    cluster: str
    root: pathlib.Path

    @property
    def master_config(self) -> pathlib.Path:
        return self.root / "master.yaml"

    @property
    def database(self) -> pathlib.Path:
        return self.root / "postgres"

    @property
    def checkpoints(self) -> pathlib.Path:
        return self.root / "checkpoints"

    @property
    def initial_passwords(self) -> Tuple[pathlib.Path, ...]:
        """The files to which a master may write the password of its first start."""
        return (self.root / "initial-password", self.database / "initial-password")

    @property
    def address(self) -> pathlib.Path:
        """The file with the address of the last started master."""
        return self.root / "address"

    @property
    def join_token(self) -> pathlib.Path:
        return self.root / "join-token"

    @property
    def settings(self) -> pathlib.Path:
        """The master's settings at its last successful start."""
        return self.root / "settings.yaml"

    @property
    def logs(self) -> pathlib.Path:
        return self.root / "logs"

    @property
    def specs(self) -> pathlib.Path:
        return self.root / "processes"

    @property
    def status(self) -> pathlib.Path:
        return self.root / "status"

    @property
    def supervisor_lock(self) -> pathlib.Path:
        return self.root / "supervisor.lock"

    @property
    def command_lock(self) -> pathlib.Path:
        return self.root / "command.lock"

    def agent_config(self, name: str) -> pathlib.Path:
        return self.root / f"{name}.yaml"

    @property
    def kept_agents(self) -> pathlib.Path:
        """How many agents the last start had."""
        return self.root / "agents.json"

    @property
    def agents(self) -> pathlib.Path:
        """The work directory of the agents: a directory per agent, and in it one per task."""
        return self.root / "agents"

    def log(self, name: str) -> pathlib.Path:
        return self.logs / f"{name}.log"

    def missing(self) -> str:
        """The message for a cluster that does not exist on this machine."""
        return (
            f"there is no cluster '{self.cluster}' on this machine (no {self.root}); "
            "name yours with --cluster-name"
        )

    def create(self) -> None:
        """Create the directories, unreadable for other users.

        Those of root can be traversed: PostgreSQL and tasks run as other users below them.

        Raises:
            CliError: they cannot be created.
        """
        mode = 0o711 if os.geteuid() == 0 else 0o700
        try:
            self.root.mkdir(mode=mode, parents=True, exist_ok=True)
            for path in (self.logs, self.specs, self.status):
                path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise errors.CliError(
                f"the cluster directory {self.root} cannot be created: {errors.in_words(error)}; "
                "set DET_DEPLOY_DIR to a writable directory"
            ) from None


def cluster_layout(cluster: str) -> ClusterLayout:
    """The layout of the cluster of that name.

    `DET_DEPLOY_DIR` overrides the parent directory, by default `$XDG_DATA_HOME/determined`
    (for root `/var/lib/determined`).

    Raises:
        CliError: the name is not valid for a directory.
    """
    check_name("cluster name", cluster)
    return ClusterLayout(cluster=cluster, root=_parent() / cluster)


def check_name(what: str, name: str) -> None:
    """Raise `CliError` for a name that is not valid for a file."""
    if not _NAME.match(name):
        raise errors.CliError(
            f"{what} {name!r} is not valid: use letters, digits, '.', '_' and '-', beginning "
            "with a letter or a digit"
        )


def _parent() -> pathlib.Path:
    directory = os.environ.get("DET_DEPLOY_DIR")
    if directory:
        return pathlib.Path(directory).absolute()
    if os.geteuid() == 0:
        return pathlib.Path("/var/lib/determined")
    data_home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return pathlib.Path(data_home) / "determined"
