"""Figures that are measured by a program of their own, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from bench.cluster import ROOT

LIMIT_S = 300


def lines_of(
    module: str, *arguments: str, limit_s: float = LIMIT_S, may_fail: bool = False
) -> list[dict[str, Any]]:
    """Run a module; the JSON objects that it prints, one a line.

    Args:
        limit_s: how long it may take.
        may_fail: whether 1 is one of its answers: it has measured, and found something.

    Raises:
        RuntimeError: it failed; with the end of what it said.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    if done.returncode and not (may_fail and done.returncode == 1 and done.stdout):
        raise RuntimeError(f"{module} failed: {done.stderr[-1000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]
