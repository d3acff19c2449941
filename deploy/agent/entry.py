"""The first process of the agent's image: the start-up script, then the agent in its place.

Standard library only. Exit code 1: the start-up script failed; the others are the agent's.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

STARTUP_SCRIPT = Path("/usr/local/determined/container_startup_script")
PACKAGES = Path("/opt/determined/packages")
HARNESSES = Path(os.environ.get("HARNESS_DIR", "/var/lib/determined/harness"))
"""On the same path inside and on the machine, for the daemon mounts from there into tasks."""
_HARNESS = ("determined", "urllib3", "ruamel", "obstore", "certifi")


def main() -> None:
    """Run the script, put the harness where the daemon finds it, become the agent."""
    run_startup_script(STARTUP_SCRIPT)
    harness = place_harness(PACKAGES, HARNESSES)
    search = os.pathsep.join([str(harness), str(PACKAGES)])
    command = [sys.executable, "-m", "determined_agent.main", *sys.argv[1:]]
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": search})


def run_startup_script(script: Path) -> None:
    """Run it where there is one, by bash unless it may be executed. Raises SystemExit."""
    if not script.exists():
        return
    shell = shutil.which("bash") or "/bin/sh"
    command = [str(script)] if os.access(script, os.X_OK) else [shell, str(script)]
    code = subprocess.run(command, check=False).returncode
    if code:
        sys.stderr.write(
            f"the start-up script {script} ended with exit code {code}: the agent is not "
            "started; mend the script, or leave it out\n"
        )
        raise SystemExit(1)


def place_harness(packages: Path, harnesses: Path) -> Path:
    """Copy what is mounted into tasks to a directory named by its content.

    Tasks of an older image may still be importing from theirs, so those stay.
    """
    found = [packages / name for name in _HARNESS if (packages / name).exists()]
    target = harnesses / _digest(found)
    if not target.exists():
        harnesses.mkdir(mode=0o755, parents=True, exist_ok=True)
        scratch = harnesses / f".{target.name}.{os.getpid()}"
        for directory in found:
            shutil.copytree(directory, scratch / directory.name)
        scratch.chmod(0o755)
        try:
            scratch.rename(target)
        except OSError:  # another agent of this machine was faster
            shutil.rmtree(scratch)
    return target


def _digest(directories: list[Path]) -> str:
    digest = hashlib.sha256()
    for directory in directories:
        for path in sorted(p for p in directory.rglob("*") if p.is_file()):
            digest.update(f"{path.relative_to(directory.parent)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
