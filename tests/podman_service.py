"""A Podman service of the tests' own, which speaks Docker's API on a socket.

Storage, socket and all else lie in one temporary directory; nothing of the machine's own Podman
is touched. Containers use the machine's network.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tests.debian_tree import PATH, CannotRun
from tests.docker_daemon import processes_of
from tests.watchdog import Watchdog, unmount

IMAGE = "localhost/determined-test:1"
_START_S = 60.0
_COMMAND_S = 600
"""An import took two minutes on a machine that was busy with other tests."""
_MAX = 32_768
"""Podman brings its own limit of processes down to this."""


class Podman:
    """One service, and what its command line does beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.socket = root / "podman.sock"
        self._config = root / "containers.conf"
        self._service: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """As `docker_host` takes it."""
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start it; returns once it answers, or raises CannotRun."""
        self._config.write_text(_configuration())
        command = [*self._command(), "system", "service", "--time", "0", self.address]
        with (self.root / "log").open("ab") as log:
            self._service = subprocess.Popen(
                command, stdout=log, stderr=log, env=self._env(), start_new_session=True
            )
        deadline = time.monotonic() + _START_S
        while not self.socket.exists():
            if self._service.poll() is not None or time.monotonic() > deadline:
                said = (self.root / "log").read_text(errors="replace")[-600:]
                self.stop()
                raise CannotRun(f"podman does not run on this machine: {said}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End the service, its containers and what keeps them."""
        if self._service is not None:
            self._podman("rm", "--all", "--force", "--time", "0")
            self._service.terminate()
            self._service.wait()
        for pid in processes_of(self.root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def run(self, *arguments: str, stdin: IO[bytes] | None = None) -> str:
        """Run a command of Podman's; what it prints."""
        done = self._podman(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def containers(self) -> list[str]:
        """Ids of all containers there are."""
        return self.run("ps", "-aq", "--no-trunc").split()

    def import_image(self, tree: Path) -> None:
        """Make an image of a directory's files."""
        with subprocess.Popen(["tar", "-C", str(tree), "-c", "."], stdout=subprocess.PIPE) as tar:
            assert tar.stdout is not None
            self.run("import", "--change", f"ENV PATH={PATH}", "-", IMAGE, stdin=tar.stdout)

    def _podman(
        self, *arguments: str, stdin: IO[bytes] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self._command(), *arguments],
            stdin=stdin or subprocess.DEVNULL,
            capture_output=True,
            timeout=_COMMAND_S,
            env=self._env(),
        )

    def _command(self) -> list[str]:
        return [
            *("podman", "--root", str(self.root / "storage"), "--runroot", str(self.root / "run")),
            *("--tmpdir", str(self.root / "tmp"), "--cgroup-manager", "cgroupfs"),
            *("--events-backend", "file", "--log-level", "warn"),
        ]

    def _env(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "TMPDIR": str(self.root),
            "CONTAINERS_CONF": str(self._config),
        }


def _configuration() -> str:
    """Limits that a machine without CAP_SYS_RESOURCE may set, and the runtime that Docker has."""
    limits = []
    for name, which in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
        hard = resource.getrlimit(which)[1]
        bound = _MAX if hard == resource.RLIM_INFINITY else min(hard, _MAX)
        limits.append(f"{name}={bound}:{bound}")
    text = f"[containers]\ndefault_ulimits = {json.dumps(limits)}\n"
    # crun refuses machines that have cgroups of both versions.
    return text + ('[engine]\nruntime = "runc"\n' if shutil.which("runc") else "")


def missing() -> str | None:
    """Why Podman cannot be tested here, None when it can."""
    if os.getuid() != 0:
        return "a Podman service of the tests' own needs root"
    if shutil.which("podman") is None:
        return "podman is not installed (Debian's package podman)"
    return None


@contextlib.contextmanager
def podman_service() -> Iterator[Podman]:
    """A service that is gone at the end, with all it had. Raises CannotRun."""
    reason = missing()
    if reason is not None:
        raise CannotRun(reason)
    root = Path(tempfile.mkdtemp(prefix="det-podman-", dir="/tmp"))
    root.chmod(0o711)
    made = Podman(root)
    with Watchdog(root):
        try:
            made.start()
            yield made
        finally:
            made.stop()
            unmount(str(root))
            shutil.rmtree(root, ignore_errors=True)
