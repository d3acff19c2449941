"""Connections to the other containers of a trial over ssh."""

from __future__ import annotations

import os
import subprocess
import time
from typing import List

from determined import _constants
from determined._constants import run_dir
from determined._info import ClusterInfo
from determined._signals import exit_code_of, forward_signals
from determined.launch import _arguments, _peers
from determined.util import check_sshd

BANNER_WAIT_S = 20.0


def mark_daemon(info: ClusterInfo) -> None:
    """Report to the master that this container ends with the chief's container."""
    from determined.common.api._task_session import TaskSession

    path = (
        f"/api/v1/allocations/{info.allocation_id}/resources/"
        f"{os.environ['DET_RESOURCES_ID']}/daemon"
    )
    TaskSession.from_environment(os.environ).post(path, json={})


def server_command() -> List[str]:
    """The command of an ssh server in the foreground, with the experiment's keys."""
    port = str(_constants.DTRAIN_SSH_PORT)
    config = os.path.join(run_dir(), "ssh", "sshd_config")
    return ["/usr/sbin/sshd", "-p", port, "-f", config, "-D"]


def serve(info: ClusterInfo) -> int:
    """Run a worker container: an ssh server that stops when its ranks have ended."""
    mark_daemon(info)
    watch = _arguments.pid_server_command(
        info.allocation_id, len(info.slot_ids), on_exit="SIGTERM"
    )
    p = subprocess.Popen([*watch[:-3], "--signal-children", *watch[-3:], *server_command()])
    with forward_signals(p):
        return exit_code_of(p.wait())


def wait_for_servers(info: ClusterInfo, first_rank: int = 1) -> None:
    """Wait for the ssh servers of the containers from `first_rank` on.

    Raises:
        ValueError: a server did not start within twenty seconds.
    """
    deadline = time.time() + BANNER_WAIT_S
    addresses = info.container_addrs
    ports = _peers.ports("DTRAIN_SSH_PORT", _constants.DTRAIN_SSH_PORT, len(addresses))
    for address, port in list(zip(addresses, ports))[first_rank:]:
        check_sshd(address, deadline, port)
