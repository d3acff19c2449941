"""Starts one process per slot with torch's launcher.

usage: python3 -m determined.launch.torch_distributed [TORCH_ARGS --] SCRIPT...
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from typing import List, Tuple

from determined import _constants
from determined._signals import exit_code_of, forward_signals
from determined.launch import _arguments

C10D_PORT = _constants.C10D_PORT


def create_launch_cmd(
    num_nodes: int, proc_per_node: int, node_rank: int, master_addr: str, override_args: List[str]
) -> List[str]:
    """The command of torch's launcher for one container."""
    return [
        *(_arguments.python(), "-m", "torch.distributed.run"),
        *("--nnodes", str(num_nodes)),
        *("--nproc_per_node", str(proc_per_node)),
        *("--node_rank", str(node_rank)),
        *("--max_restarts", "0"),
        *("--master_addr", master_addr),
        *("--master_port", str(C10D_PORT)),
        "--module",
        *override_args,
    ]


def create_log_redirect_cmd() -> List[str]:
    """The command prefix that marks a rank's output."""
    return _arguments.wrap_rank_command("RANK")


def create_pid_server_cmd(allocation_id: str, num_slot_ids: int) -> List[str]:
    """The command prefix that monitors the launcher's ranks."""
    return _arguments.pid_server_command(allocation_id, num_slot_ids)


def create_pid_client_cmd(allocation_id: str) -> List[str]:
    """The command prefix that registers a rank with the PID server."""
    # torch's --module starts the interpreter itself.
    return _arguments.pid_client_command(allocation_id)[2:]


def main(override_args: List[str], script: List[str]) -> int:
    """Start the ranks of this container and wait for them; return the exit code.

    A container without slots has one rank.

    Raises:
        SystemExit: PyTorch is not installed.
    """
    info = _arguments.require_cluster_info("determined.launch.torch_distributed")
    ranks = max(1, len(info.slot_ids))
    is_alone = ranks == len(info.container_addrs) == 1
    if _lacks_torch() and not (is_alone and script[1:3] == list(_arguments.HARNESS)):
        raise SystemExit(
            "determined.launch.torch_distributed needs PyTorch, which this Python does not have: "
            "use an image with PyTorch, or set DET_PYTHON_EXECUTABLE to another Python"
        )
    if _lacks_torch():  # such as for a trial class of Keras with TensorFlow
        p = subprocess.Popen(script)
        with forward_signals(p):
            return exit_code_of(p.wait())
    chief_ip = info.container_addrs[0]
    os.environ["USE_TORCH_DISTRIBUTED"] = "True"
    os.environ["DET_CHIEF_IP"] = chief_ip
    nodes = len(info.container_addrs)
    command = [
        *create_pid_server_cmd(info.allocation_id, ranks),
        *create_launch_cmd(
            nodes,
            ranks,
            info.container_rank,
            "localhost" if nodes == 1 else chief_ip,
            override_args,
        ),
        *create_pid_client_cmd(info.allocation_id),
        *create_log_redirect_cmd(),
        *script,
    ]
    p = subprocess.Popen(command)
    with forward_signals(p):
        return exit_code_of(p.wait())


def parse_args(args: List[str]) -> Tuple[List[str], List[str]]:
    """Split the arguments into those of torch and the command of each rank."""
    override_args, rest = _arguments.split_overrides(args)
    return override_args, _arguments.script_of(rest, "torch_distributed [TORCH_ARGS --] SCRIPT...")


def _lacks_torch() -> bool:
    is_mine = shutil.which(_arguments.python()) == sys.executable
    return is_mine and importlib.util.find_spec("torch") is None


if __name__ == "__main__":
    sys.exit(main(*parse_args(sys.argv[1:])))
