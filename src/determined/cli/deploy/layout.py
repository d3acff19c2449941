"""Where the files of a local cluster are."""

import dataclasses
import os
import pathlib
import re
from typing import Tuple

from determined.cli import errors

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")


@dataclasses.dataclass(frozen=True)
class ClusterLayout:
    """The directory of one cluster and the names in it. Standard library only.

    `specs` holds one JSON file for each process that should run, `status` one for each
    process that the supervisor has started.
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
        """Where a master writes the password of its first start, by its settings."""
        return (self.root / "initial-password", self.database / "initial-password")

    @property
    def address(self) -> pathlib.Path:
        """The file with the address of the master that was started last."""
        return self.root / "address"

    @property
    def join_token(self) -> pathlib.Path:
        return self.root / "join-token"

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
    def agents(self) -> pathlib.Path:
        """The agents' work directory: a directory an agent, in it one a task."""
        return self.root / "agents"

    def log(self, name: str) -> pathlib.Path:
        return self.logs / f"{name}.log"

    def missing(self) -> str:
        """What is said of a cluster that was never brought up here."""
        return (
            f"there is no cluster '{self.cluster}' on this machine (no {self.root}); "
            "name yours with --cluster-name"
        )

    def create(self) -> None:
        """Make the directories; what they hold is nobody else's to read.

        Root's may be passed through: PostgreSQL and tasks run as other users below it.

        Raises:
            CliError: they cannot be made.
        """
        mode = 0o711 if os.geteuid() == 0 else 0o700
        try:
            self.root.mkdir(mode=mode, parents=True, exist_ok=True)
            for path in (self.logs, self.specs, self.status):
                path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise errors.CliError(
                f"the cluster's directory {self.root} cannot be made: {errors.in_words(error)}; "
                "set DET_DEPLOY_DIR to a directory that you may write"
            ) from None


def cluster_layout(cluster: str) -> ClusterLayout:
    """The layout of a cluster by its name.

    `DET_DEPLOY_DIR` names another parent directory than `$XDG_DATA_HOME/determined`
    (for root `/var/lib/determined`).

    Raises:
        CliError: the name could not be a directory's name.
    """
    check_name("cluster name", cluster)
    return ClusterLayout(cluster=cluster, root=_parent() / cluster)


def check_name(what: str, name: str) -> None:
    """Refuse a name that could not be a file's, with `CliError`."""
    if not _NAME.match(name):
        raise errors.CliError(
            f"{what} {name!r} is not valid: use letters, digits, '.', '_' and '-', beginning "
            "with a letter or a digit"
        )


def _parent() -> pathlib.Path:
    given = os.environ.get("DET_DEPLOY_DIR")
    if given:
        return pathlib.Path(given).absolute()
    if os.geteuid() == 0:
        return pathlib.Path("/var/lib/determined")
    data_home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return pathlib.Path(data_home) / "determined"
