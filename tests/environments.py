"""Virtual environments of the tests' own, with packages that the project itself does not need."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTALL_LIMIT_S = 900


class NotInstalled(Exception):
    """The packages cannot be had here; the text says why."""


def environment(
    name: str,
    packages: Sequence[str],
    probe: Sequence[str],
    *,
    alone: Sequence[str] = (),
    interpreter: Path = Path(sys.executable),
) -> Path:
    """The interpreter of an environment that has the packages, made once in the repository.

    Args:
        name: the directory is `.venv-NAME`.
        packages: what pip is asked for.
        probe: arguments for the interpreter, with which it must run.
        alone: packages that are installed without what they depend on.
        interpreter: the environment's is of its release.

    Raises:
        NotInstalled: the registry does not answer, or the packages do not run here.
    """
    folder = ROOT / f".venv-{name}"
    folder.mkdir(exist_ok=True)
    key = hashlib.sha256(" ".join([*packages, *alone]).encode()).hexdigest()[:12]
    python, done = folder / "bin" / "python3", folder / f"has-{key}"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            # The run's own pip takes a third of the time that the interpreter's takes.
            is_of_run = interpreter == Path(sys.executable)
            options = ["--without-pip"] if is_of_run else []
            _run_or_give_up([str(interpreter), "-m", "venv", *options, str(folder)])
            pip = [str(python), "-m", "pip"]
            if is_of_run:
                pip = [sys.executable, "-m", "pip", "--python", str(python)]
            _install(pip, packages)
            if alone:
                _install(pip, ["--no-deps", *alone])
            _run_or_give_up([str(python), *probe])
            done.touch()
    return python


def _install(pip: Sequence[str], packages: Sequence[str]) -> None:
    # Most modules are never loaded: those that are get compiled then.
    _run_or_give_up([*pip, "install", "--quiet", "--no-compile", "--retries", "1", *packages])


def _run_or_give_up(command: list[str]) -> None:
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{command}: {error}") from error
    if ended.returncode:
        raise NotInstalled(f"{command} ended with {ended.returncode}: {ended.stderr[-500:]}")
