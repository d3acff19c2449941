"""Whether tasks of other accounts can be isolated here, and the directories they keep."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import determined_agent
from determined_agent.runtimes.harness import locate_harness
from determined_agent.shim.isolation import SHARED

log = logging.getLogger(__name__)

_PROBE = (
    "import sys; sys.path.append({0!r}); from determined_agent.shim.isolation import probe; "
    "print(probe(sys.argv[1]))"
)
_PROBE_S = 30.0


def find_obstacle() -> str:
    """Why tasks cannot be isolated here, which is logged; empty if they can."""
    source = str(Path(determined_agent.__file__).parent.parent)
    argv = [sys.executable, "-I", "-S", "-c", _PROBE.format(source)]
    try:
        with tempfile.TemporaryDirectory(prefix="determined-probe-") as place:
            done = subprocess.run(
                [*argv, place], capture_output=True, text=True, timeout=_PROBE_S, check=True
            )
        reason = done.stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        reason = str(error)
    if reason:
        log.warning(
            "tasks share /tmp and see each other's processes: the kernel refuses namespaces "
            "(%s); set process_isolation to false if that is meant",
            reason,
        )
    return reason


def agent_directories(root: Path) -> list[str]:
    """Directories of the agent that tasks use: interpreter, harness and program search path."""
    paths = [sys.prefix, sys.base_prefix, str(root / "bin"), *locate_harness().values()]
    paths += [path for path in os.environ.get("PATH", "").split(os.pathsep) if path]
    return paths


def kept_directories(paths: Iterable[str]) -> list[str]:
    """Those at or below a shared directory, parents first."""
    clean = {os.path.normpath(path) for path in paths}
    directories = {
        path
        for path in clean
        for place in SHARED
        if path == place or path.startswith(f"{place}/") or path == "/"
    }
    return sorted({*directories, *SHARED} if "/" in directories else directories)
