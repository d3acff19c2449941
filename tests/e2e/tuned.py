"""Runs a part of the cluster with another clock or another patience, as a test says.

    python tuned.py '{"clock": "FILE"}' determined_master.main --port 8080 ...

What can be tuned:

* `clock`: a file with a number of seconds, by which this process's clock is ahead of the
  machine's; it is read at each look at the clock, so that the clock jumps when the file changes;
* `shim_ahead_s`: the same for the shims that an agent starts, fixed;
* `link`: fields of the master's `LinkTimes`;
* `hostname`: what the machine calls itself;
* `machines`: a directory; pools of the master may have `provider: {type: local}`, whose machines
  are agents beside it (`local_machines.py`), and are looked at every second;
* `pods`: fields of the master's `Times` of pods;
* `keepalive`: `ping_s` and `answer_s` of the agent's end of the link.

Everything else is as it is shipped.
"""

from __future__ import annotations

import functools
import json
import runpy
import socket
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any


def main() -> None:
    """Tune, then run the module as the program that it is."""
    sys.path.pop(0)  # the directory of this file, whose modules nobody here is to find
    tuning: dict[str, Any] = json.loads(sys.argv[1])
    module = sys.argv[2]
    house = module.partition(".")[0]
    if "clock" in tuning:
        shift_clock(house, Path(tuning["clock"]))
    if "shim_ahead_s" in tuning:
        shift_shims(float(tuning["shim_ahead_s"]))
    if "link" in tuning:
        from determined_master.backends.agents import backend

        backend.LinkTimes = functools.partial(backend.LinkTimes, **tuning["link"])  # type: ignore[assignment, misc]  # only ever called
    if "hostname" in tuning:
        socket.gethostname = lambda: str(tuning["hostname"])
    if "machines" in tuning:
        sys.path.append(str(Path(__file__).parents[2]))
        from tests.e2e import local_machines

        local_machines.offer(Path(tuning["machines"]))
    if "pods" in tuning:
        from determined_master.backends.kubernetes import backend as pods

        pods.Times = functools.partial(pods.Times, **tuning["pods"])  # type: ignore[assignment, misc]  # only ever called
    if "keepalive" in tuning:
        from determined_agent.link import connection as link

        link.KEEPALIVE = link.Keepalive(**tuning["keepalive"])
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def shift_clock(house: str, file: Path) -> None:
    """Let a house's clock be ahead by what stands in a file."""
    clock = __import__(f"{house}.clock", fromlist=["now"])
    real = clock.now

    def now() -> datetime:
        return real() + timedelta(seconds=float(file.read_text() or 0))  # type: ignore[no-any-return]  # a module as a value

    clock.now = now


def shift_shims(ahead_s: float) -> None:
    """Let the shims' clock be ahead."""
    from determined_agent.runtimes.process import shim_process

    shift = (
        "import time; _now = time.time_ns; "
        f"time.time_ns = lambda: _now() + {round(ahead_s * 1e9)}; "
    )
    # The braces of the text are for `format`.
    shim_process._BOOT = shift.replace("{", "{{").replace("}", "}}") + shim_process._BOOT


if __name__ == "__main__":
    main()
