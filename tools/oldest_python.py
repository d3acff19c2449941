"""Checks that sources need no later Python than promised: the interpreter at hand may be newer.

python tools/oldest_python.py 3.9 src/determined examples

vermin reads 1,500 modules in 15 s. What a file needs depends on its text alone, so a file that
passed is not read again until it changes: `build/oldest_python/RELEASE` has the digests of those.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
PASSED = ROOT / "build" / "oldest_python"
VERMIN = (sys.executable, "-c", "from vermin import main; main()")


def check(release: str, paths: list[Path], passed: Path) -> int:
    """Let vermin read the files that have changed since they passed.

    Args:
        release: the oldest Python that the files promise to run on, as in `3.9`.
        paths: files, and directories whose `*.py` files are meant.
        passed: the file with the digests of those that passed. Those of other files are dropped.

    Returns:
        vermin's exit status: 0 when no file needs a later Python. Its list goes to stdout.
    """
    try:
        known_good = set(passed.read_text().split())
    except FileNotFoundError:
        known_good = set()
    digests = {path: _digest(path) for path in sorted(_sources(paths))}
    changed = [str(path) for path, digest in digests.items() if digest not in known_good]
    status = 0
    if changed:
        options = ("--quiet", "--no-tips", "--violations", f"-t={release}-")
        status = subprocess.run([*VERMIN, *options, *changed], check=False).returncode
    if status == 0:
        passed.parent.mkdir(parents=True, exist_ok=True)
        passed.write_text("\n".join(sorted(set(digests.values()))) + "\n")
    return status


def _sources(paths: list[Path]) -> set[Path]:
    return {file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))}


def _digest(path: Path) -> str:
    """Of the text, and of the program that judges it."""
    text = version("vermin").encode() + b"\0" + path.read_bytes()
    return hashlib.sha256(text).hexdigest()


if __name__ == "__main__":
    sys.exit(check(sys.argv[1], [Path(name) for name in sys.argv[2:]], PASSED / sys.argv[1]))
