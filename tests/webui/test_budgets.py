"""The sizes of the built web UI (`webui/tools/size.mjs` has the budgets)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.webui.chromium import BUILT

SIZES = Path(__file__).parents[2] / "webui" / "tools" / "size.mjs"
LIMIT_S = 60


def test_the_build_is_within_its_budgets() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on the PATH: it measures the files")
    if not (BUILT.parent / ".vite" / "manifest.json").is_file():
        pytest.skip(f"no web UI is built at {BUILT.parent}: run make webui")
    command = [node, str(SIZES), str(BUILT.parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
