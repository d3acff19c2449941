"""Where a Chromium is, and why there is none to use."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

BUILT = Path(__file__).parents[2] / "src" / "determined_master" / "webui" / "index.html"
NAMES = ("chromium", "chromium-browser", "google-chrome")
LIMIT_MS = 30_000
"""A deadline is no claim: a busy machine may take this long."""
OPTIONS = (
    "--no-sandbox",  # needs rights that containers rarely give; pages are our own
    "--disable-dev-shm-usage",
    "--disable-gpu",  # without one, an emulated one draws canvases ten times slower than the CPU
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
)


def find_chromium() -> str | None:
    """The program that `CHROMIUM` names, or else the first one of the search path."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def reason_to_skip() -> str | None:
    """What is missing for a test in a browser, and how to get it."""
    if find_chromium() is None:
        return "no Chromium is installed: apt-get install chromium"
    if not BUILT.is_file():
        return "the web UI is not built: make webui"
    return None
