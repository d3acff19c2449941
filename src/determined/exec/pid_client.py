"""Runs a worker that a PID server monitors: `pid_client ADDR -- COMMAND`."""

from __future__ import annotations

import sys
from typing import List

from determined.ipc import PIDClient, read_pid_server_addr


def main(argv: List[str]) -> int:
    """Run the worker; return its exit code."""
    if len(argv) < 3 or argv[1] != "--":
        sys.stderr.write("usage: pid_client ADDR -- COMMAND ...\n")
        return 2
    client = PIDClient(read_pid_server_addr(argv[0])).start()
    try:
        return client.run_subprocess(argv[2:])
    finally:
        client.close(graceful=False)  # no effect after a graceful close


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
