"""Our command line, run as a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.cluster import PASSWORD, ROOT, Cluster


def det(
    cluster: Cluster,
    *arguments: str,
    code: int = 0,
    python: Path = Path(sys.executable),
    warns: bool = False,
) -> str:
    """Run one command as the admin, which must end with that status; what it says.

    Args:
        warns: return its warnings, too.
    """
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("DET_")},
        "DET_MASTER": cluster.address,
        "DET_USER": "admin",
        "DET_PASS": PASSWORD,
        "HOME": str(cluster.root),
        "PYTHONPATH": str(ROOT / "src"),
    }
    done = subprocess.run(
        [str(python), "-m", "determined.cli", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    if warns:
        return done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr
