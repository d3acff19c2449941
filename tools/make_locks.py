"""Makes the lock files in requirements/ with uv.

python tools/make_locks.py UV              keeps the versions that still fit
python tools/make_locks.py UV --upgrade    takes the newest versions
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from tools.lock_files import (  # noqa: E402
    FOLDER,
    LOCKS,
    MACHINES,
    PYPROJECT,
    RELEASES,
    WHOLE,
    UnreadableLock,
    digest_of_inputs,
    head_of,
    path_of,
    read_lock,
    today,
)

from tools import machine_lock  # noqa: E402

OPTIONS = ("--universal", "--python-version", RELEASES[0], "--generate-hashes", "--no-header")
PLATFORM = "manylinux_2_28"


def make_all(uv: str, *, is_upgrade: bool, root: Path = ROOT) -> None:
    """Resolve every lock in a scratch directory, try it, and put all into place."""
    made, inputs = _date(is_upgrade, root), digest_of_inputs(root)
    with tempfile.TemporaryDirectory(prefix="det-locks-") as name:
        scratch = Path(name)
        shutil.copy(root / PYPROJECT, scratch)
        if (root / FOLDER).is_dir():
            shutil.copytree(root / FOLDER, scratch / FOLDER)
        else:
            (scratch / FOLDER).mkdir()
        for lock in LOCKS:
            path = path_of(lock, scratch)
            _resolve(uv, lock, scratch, is_upgrade=is_upgrade)
            text = path.read_text()
            if "://" in text:
                raise SystemExit(f"the lock {lock} names an address: unset uv's index options")
            path.write_text(head_of(made, inputs) + text)
            _try_everywhere(uv, path)
        (root / FOLDER).mkdir(exist_ok=True)
        for lock in LOCKS:
            shutil.copy(path_of(lock, scratch), path_of(lock, root))
        machine_lock.write(root)


def _date(is_upgrade: bool, root: Path) -> date:
    """The day on which all packages were last looked for in newer versions."""
    try:
        return today() if is_upgrade else read_lock(WHOLE, root).made
    except UnreadableLock:
        return today()


def _resolve(uv: str, lock: str, scratch: Path, *, is_upgrade: bool) -> None:
    options = list(OPTIONS)
    if is_upgrade and lock == WHOLE:
        options.append("--upgrade")
    if lock != WHOLE:
        options += ["--constraint", str(FOLDER / f"{WHOLE}.txt")]
        if is_upgrade:
            path_of(lock, scratch).unlink(missing_ok=True)
    command = [uv, "--quiet", "pip", "compile", *options, "--no-emit-index-url"]
    selection = [part.replace("--only-group", "--group") for part in LOCKS[lock]]
    # Without a named source, uv takes groups alone.
    source = [] if "--only-group" in LOCKS[lock] else [str(PYPROJECT)]
    output = ["--output-file", str(FOLDER / f"{lock}.txt")]
    subprocess.run([*command, *source, *selection, *output], cwd=scratch, check=True)


def _try_everywhere(uv: str, path: Path) -> None:
    """Raises CalledProcessError if a release or machine has no wheel of a pinned version."""
    for release in RELEASES:
        for machine in MACHINES:
            command = [uv, "--quiet", "pip", "install", "--dry-run", "--target", str(path.parent)]
            command += ["--python-version", release, "--python-platform", f"{machine}-{PLATFORM}"]
            command += ["--only-binary", ":all:", "--require-hashes", "--requirement", str(path)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    make_all(sys.argv[1], is_upgrade="--upgrade" in sys.argv[2:])
