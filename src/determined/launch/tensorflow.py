"""Starts one process per container, with TF_CONFIG set.

usage: python3 -m determined.launch.tensorflow [--port PORT] [--] SCRIPT...
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any, Dict, List, Tuple

from determined import _constants
from determined._info import ClusterInfo
from determined._signals import exit_code_of, forward_signals
from determined.launch import _arguments, _peers


def tf_config(info: ClusterInfo, port: int) -> Dict[str, Any]:
    """The TF_CONFIG of this container."""
    addresses = info.container_addrs
    ports = [port] * len(addresses)
    if port == _constants.C10D_PORT:
        ports = _peers.ports("C10D_PORT", port, len(addresses))
    workers = [f"{address}:{port}" for address, port in zip(addresses, ports)]
    task = {"type": "worker", "index": info.container_rank}
    return {"cluster": {"worker": workers}, "task": task}


def main(port: int, script: List[str]) -> int:
    """Run this container's process; return its exit code."""
    info = _arguments.require_cluster_info("determined.launch.tensorflow")
    os.environ["DET_CHIEF_IP"] = info.container_addrs[0]
    command = script
    if len(info.container_addrs) > 1:
        os.environ["TF_CONFIG"] = json.dumps(tf_config(info, port))
        command = [*_arguments.wrap_rank_command(str(info.container_rank)), *script]
    p = subprocess.Popen(command)
    with forward_signals(p):
        return exit_code_of(p.wait())


def parse_args(args: List[str]) -> Tuple[int, List[str]]:
    """Parse the port and the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=_constants.C10D_PORT)
    parser.add_argument("script", nargs=argparse.REMAINDER)
    parsed = parser.parse_args(args)
    script = parsed.script[1:] if parsed.script[:1] == ["--"] else parsed.script
    return parsed.port, _arguments.script_of(script, "tensorflow [--port PORT] [--] SCRIPT...")


if __name__ == "__main__":
    sys.exit(main(*parse_args(sys.argv[1:])))
