"""Starts one process per slot with DeepSpeed's launcher.

usage: python3 -m determined.launch.deepspeed SCRIPT...
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from typing import List, Mapping, Tuple

from determined import _constants
from determined._info import ClusterInfo
from determined._signals import exit_code_of, forward_signals
from determined.launch import _arguments, _peers, _ssh

ENV_FILE = ".deepspeed_env"
_KEPT_HERE = re.compile(
    r"BASH_FUNC_.*|OLDPWD|HOSTNAME|.*CUDA_VISIBLE_DEVICES|SLURM_PROCID|DET_SLOT_IDS|DET_AGENT_ID"
)
"""Variables that differ between containers."""


def write_hostfile(info: ClusterInfo) -> str:
    """Write DeepSpeed's hostfile; return its path."""
    path = os.path.join(tempfile.gettempdir(), f"hostfile-{info.allocation_id}.txt")
    lines = [
        f"{address} slots={count}\n"
        for address, count in zip(_peers.ssh_names(info), info.container_slot_counts)
    ]
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="ascii") as file:
        file.writelines(lines)
    os.replace(temporary, path)  # several containers of one host may write it
    return path


def env_file_lines(env: Mapping[str, str]) -> List[str]:
    """The variables that DeepSpeed passes to other containers, one per line."""
    return [
        f"{name}={shlex.quote(value)}\n"
        for name, value in env.items()
        if not _KEPT_HERE.fullmatch(name) and "\n" not in value
    ]


def create_run_command(master_address: str, hostfile: str, version: Tuple[int, ...]) -> List[str]:
    """The command of DeepSpeed's launcher; `hostfile` is empty for a single container."""
    return [
        "deepspeed",
        *(("-H", hostfile) if hostfile else ()),
        *("--master_addr", master_address),
        # Its default port is the same for all trials of a machine.
        *("--master_port", str(_constants.C10D_PORT)),
        "--no_python",
        "--no_local_rank",
        *(("--no_ssh_check",) if version > (0, 6, 4) else ()),
        "--",
    ]


def main(script: List[str]) -> int:
    """Start all ranks from the chief, or serve as a worker; return the exit code."""
    info = _arguments.require_cluster_info("determined.launch.deepspeed", is_trial=True)
    is_multi = len(info.container_addrs) > 1
    version = deepspeed_version()
    if is_multi and (0, 6, 1) <= version <= (0, 6, 4):
        raise SystemExit("DeepSpeed 0.6.1 to 0.6.4 cannot train in several containers: update it")
    os.environ["DET_CHIEF_IP"] = info.container_addrs[0]
    os.environ["USE_DEEPSPEED"] = "1"
    _choose_interface(info)
    hostfile = ""
    if not is_multi and not info.gpu_uuids:
        # Of a machine without GPUs DeepSpeed counts the sockets, not the slots.
        os.environ["LOCAL_SIZE"] = str(len(info.slot_ids))
    if is_multi:
        hostfile = os.environ["DET_DEEPSPEED_HOSTFILE_PATH"] = write_hostfile(info)
        if info.container_rank > 0:
            return _ssh.serve(info)
        options = ["-o PasswordAuthentication=no -o StrictHostKeyChecking=no"]
        options += [*_peers.ssh_port_options(), "-2 -a -x %h"]
        os.environ["PDSH_SSH_ARGS"] = " ".join(options)
        with open(ENV_FILE, "w", encoding="utf-8") as file:
            file.writelines(env_file_lines(os.environ))
    return _run_chief(info, create_run_command(info.container_addrs[0], hostfile, version), script)


def deepspeed_version() -> Tuple[int, ...]:
    """The version of the installed DeepSpeed.

    Raises:
        SystemExit: DeepSpeed is not installed.
    """
    from importlib import metadata

    try:
        text = metadata.version("deepspeed")
    except metadata.PackageNotFoundError:
        raise SystemExit(
            "DeepSpeed is not installed in this image: install the package deepspeed"
        ) from None
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def parse_args(args: List[str]) -> List[str]:
    """Parse the command of each rank."""
    rest = args[1:] if args[:1] == ["--"] else args
    return _arguments.script_of(rest, "deepspeed SCRIPT...")


def _run_chief(info: ClusterInfo, launcher: List[str], script: List[str]) -> int:
    server = None
    if len(info.container_addrs) > 1:
        server = subprocess.Popen(_ssh.server_command())
        _ssh.wait_for_servers(info, first_rank=0)
    watch = _arguments.pid_server_command(
        info.allocation_id, len(info.slot_ids), on_exit="SIGTERM"
    )
    command = [
        *watch[:-3],
        *("--grace-period", "5", "--signal-children"),
        *watch[-3:],
        *launcher,
        *_arguments.pid_client_command(info.allocation_id),
        *_arguments.wrap_rank_command("RANK"),
        *script,
    ]
    try:
        p = subprocess.Popen(command)
        with forward_signals(p):
            return exit_code_of(p.wait())
    finally:
        if server is not None:
            server.terminate()
            server.wait()


def _choose_interface(info: ClusterInfo) -> None:
    interface = info.trial._inter_node_network_interface
    if interface and os.environ.get("CUDA_VISIBLE_DEVICES"):
        os.environ.setdefault("NCCL_SOCKET_IFNAME", interface)


if __name__ == "__main__":
    sys.exit(main(parse_args(sys.argv[1:])))
