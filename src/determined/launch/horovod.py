"""Starts one process per slot with horovodrun. Deprecated.

usage: python3 -m determined.launch.horovod [HOROVODRUN_ARGS --] SCRIPT...
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any, Dict, List, Optional, Tuple

from determined._info import ClusterInfo
from determined._signals import exit_code_of, forward_signals
from determined.launch import _arguments, _peers, _ssh

START_TIMEOUT_S = 1200
GLOO_TIMEOUT_S = 240


def create_run_cmd(info: ClusterInfo, override_args: List[str]) -> List[str]:
    """The horovodrun command for all containers; run on the chief."""
    counts = info.container_slot_counts
    hosts = ["localhost", *_peers.ssh_names(info)[1:]]
    interface = info.trial._inter_node_network_interface
    config = info.trial._config
    user_args = (config.get("data") or {}).get("__det_dtrain_args") or []
    debug = ["--verbose"] if info.trial._debug else []
    return run_command(
        hosts,
        counts,
        interface=interface,
        optimizations=config.get("optimizations") or {},
        options=[*user_args, *debug, *override_args],
    )


def run_command(
    hosts: List[str],
    counts: List[int],
    *,
    interface: Optional[str],
    optimizations: Dict[str, Any],
    options: List[str],
) -> List[str]:
    """The horovodrun command for a number of ranks on each host."""
    return [
        "horovodrun",
        *("-np", str(sum(counts))),
        *_peers.ssh_port_options(),
        *("-H", hosts_argument(hosts, counts)),
        *("--start-timeout", str(START_TIMEOUT_S)),
        *("--gloo-timeout-seconds", str(GLOO_TIMEOUT_S)),
        *(("--network-interface", interface) if interface and len(hosts) > 1 else ()),
        *performance_args(optimizations),
        *options,
    ]


def hosts_argument(hosts: List[str], counts: List[int]) -> str:
    """`host:ranks` for each host, joined by commas."""
    return ",".join(f"{host}:{count}" for host, count in zip(hosts, counts))


def performance_args(optimizations: Dict[str, Any]) -> List[str]:
    """horovodrun's options for the configuration's `optimizations`."""
    if optimizations.get("auto_tune_tensor_fusion"):
        tuning = ["--autotune", "--autotune-log-file", "autotune.log"]
    else:
        tuning = [
            *("--fusion-threshold-mb", str(optimizations.get("tensor_fusion_threshold", 64))),
            *("--cycle-time-ms", str(optimizations.get("tensor_fusion_cycle_time", 1))),
        ]
    fixed = ["--no-hierarchical-allreduce", "--no-hierarchical-allgather"]
    return [*tuning, "--cache-capacity", "1024", *fixed]


def main(override_args: List[str], script: List[str], is_automatic: bool = False) -> int:
    """Start all ranks from the chief, or serve as a worker; return the exit code."""
    info = _arguments.require_cluster_info("determined.launch.horovod", is_trial=True)
    os.environ["DET_CHIEF_IP"] = info.container_addrs[0]
    if is_automatic and sum(info.container_slot_counts) <= 1:
        return _run(script)
    os.environ["USE_HOROVOD"] = "1"
    os.environ.pop("SLURM_JOBID", None)
    if info.container_rank > 0:
        return _ssh.serve(info)
    _ssh.wait_for_servers(info)
    return _run(
        [
            *_arguments.pid_server_command(
                info.allocation_id, len(info.slot_ids), on_fail="SIGINT"
            ),
            *create_run_cmd(info, override_args),
            *_arguments.pid_client_command(info.allocation_id),
            *_arguments.wrap_rank_command("HOROVOD_RANK,OMPI_COMM_WORLD_RANK,PMI_RANK"),
            *script,
        ]
    )


def parse_args(args: List[str]) -> Tuple[List[str], List[str], bool]:
    """Split the arguments into those of horovodrun and the command of each rank."""
    warnings.warn("determined.launch.horovod is deprecated", FutureWarning, stacklevel=2)
    is_automatic = args[:1] == ["--autohorovod"]
    override_args, rest = _arguments.split_overrides(args[1:] if is_automatic else args)
    script = _arguments.script_of(rest, "horovod [HOROVODRUN_ARGS --] SCRIPT...")
    return override_args, script, is_automatic


def _run(command: List[str]) -> int:
    p = subprocess.Popen(command)
    with forward_signals(p):
        return exit_code_of(p.wait())


if __name__ == "__main__":
    sys.exit(main(*parse_args(sys.argv[1:])))
