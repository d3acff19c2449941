"""Starts one process per slot; requires no framework.

usage: python3 -m determined.launch.simple SCRIPT...

Each process gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK and GROUP_WORLD_SIZE,
which `DistributedContext.from_torch_distributed()` reads. If a process fails, the launcher
terminates the others and returns its exit code.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List

from determined import _constants
from determined._info import ClusterInfo
from determined._signals import exit_code_of, forwarded_signals
from determined.launch import _arguments
from determined.launch.wrap_rank import pump_output

GRACE_S = 10.0
"""The time between SIGTERM and SIGKILL for the other ranks after one has failed."""
POLL_S = 0.1


def rank_environments(info: ClusterInfo) -> List[Dict[str, str]]:
    """The variables of each rank of this container, in order of rank."""
    counts = [max(n, 1) for n in info.container_slot_counts]
    first = sum(counts[: info.container_rank])
    local = counts[info.container_rank]
    chief_ip = info.container_addrs[0]
    return [
        {
            "RANK": str(first + local_rank),
            "WORLD_SIZE": str(sum(counts)),
            "LOCAL_RANK": str(local_rank),
            "LOCAL_WORLD_SIZE": str(local),
            "GROUP_RANK": str(info.container_rank),
            "GROUP_WORLD_SIZE": str(len(counts)),
            "DET_CHIEF_IP": chief_ip,
            "MASTER_ADDR": chief_ip,
            "MASTER_PORT": str(_constants.C10D_PORT),
        }
        for local_rank in range(local)
    ]


def main(script: List[str]) -> int:
    """Start the ranks of this container and wait for them; return the exit code."""
    info = _arguments.require_cluster_info("determined.launch.simple")
    return run_ranks(script, rank_environments(info))


def run_ranks(script: List[str], environments: List[Dict[str, str]]) -> int:
    """Run a command once for each environment; return 0, or the first failure's exit code."""
    ranks: List[subprocess.Popen[bytes]] = []

    def forward(signum: int, _frame: Any) -> None:
        for p in ranks:
            with contextlib.suppress(ProcessLookupError):
                p.send_signal(signum)

    before = {signum: signal.signal(signum, forward) for signum in forwarded_signals()}
    pumps = []
    try:
        for variables in environments:
            p = subprocess.Popen(
                script,
                env={**os.environ, **variables},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            ranks.append(p)
            pumps += pump_output(p, int(variables["RANK"]), is_redirected=False)
        return _wait(ranks)
    finally:
        _end(ranks)
        for pump in pumps:
            pump.finish()
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _wait(ranks: List[subprocess.Popen[bytes]]) -> int:
    while True:
        codes = [p.poll() for p in ranks]
        failed = [code for code in codes if code]
        if failed:
            return exit_code_of(failed[0])
        if all(code == 0 for code in codes):
            return 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            next(p for p in ranks if p.returncode is None).wait(POLL_S)


def _end(ranks: List[subprocess.Popen[bytes]]) -> None:
    for p in ranks:
        if p.poll() is None:
            p.terminate()
    deadline = time.monotonic() + GRACE_S
    for p in ranks:
        try:
            p.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


if __name__ == "__main__":
    sys.exit(main(_arguments.script_of(sys.argv[1:], "simple SCRIPT...")))
