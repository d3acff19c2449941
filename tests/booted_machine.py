"""A machine that boots: systemd as process 1 over a directory of files, without its own kernel.

Needs root, and cgroup v1 with systemd's hierarchy.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

SCRIPT = Path(__file__).with_name("boot_machine.sh")
_BOOT_S = 120.0
_STOP_S = 60.0
_HIERARCHIES = Path("/sys/fs/cgroup")


class CannotBoot(Exception):
    """Nothing boots on this machine; the text says why."""


def missing() -> str | None:
    """Why no system can be booted here, None when one can."""
    if os.getuid() != 0:
        return "booting a system needs root"
    for program in ("unshare", "nsenter", "pivot_root"):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian's util-linux)"
    if not (_HIERARCHIES / "systemd/cgroup.procs").exists():
        return "systemd's hierarchy of cgroup v1 is not mounted, and v2 is not tried"
    allowed = subprocess.run(
        ["unshare", "--mount", "--pid", "--cgroup", "--fork", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return allowed.stderr.strip() or None


class BootedMachine:
    """One system that runs."""

    def __init__(self, root: Path, prefix: Sequence[str] = ()) -> None:
        """
        Args:
            root: the files of the system.
            prefix: a command that boots it, such as `nsenter --net=PATH`.
        """
        self.root = root
        self.log = root.with_name(f"{root.name}.console")
        self._prefix = tuple(prefix)
        self._cgroup = f"det-test-{os.getpid()}-{root.name}"
        self._process: subprocess.Popen[bytes] | None = None
        self._init = 0

    def start(self) -> None:
        """Boot it; returns once systemd has started all units. Raises CannotBoot."""
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*self._prefix, str(SCRIPT), str(self.root), self._cgroup],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _BOOT_S
        while (state := self._state()) not in ("running", "degraded"):
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = self.log.read_text(errors="replace")[-600:]
                self.stop()
                raise CannotBoot(f"systemd is {state or 'not running'}: {said}")
            time.sleep(0.1)

    def _state(self) -> str:
        """Of the system; empty as long as its systemd does not answer."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        with contextlib.suppress(OSError, ValueError):
            self._init = int(children.read_text())
            if Path(f"/proc/{self._init}/comm").read_text() == "systemd\n":
                return self.try_to_run("systemctl", "is-system-running").stdout.strip()
        return ""

    def try_to_run(
        self, *command: str, stdin: str = "", limit_s: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in it as root."""
        return subprocess.run(
            [
                "nsenter",
                "--target",
                str(self._init),
                "--all",
                "env",
                "-i",
                *_ENVIRONMENT,
                *command,
            ],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s,
        )

    def run(self, *command: str, stdin: str = "") -> str:
        """The same; what it prints. It must succeed."""
        done = self.try_to_run(*command, stdin=stdin)
        assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
        return done.stdout

    def journal(self, *options: str) -> str:
        """What its services have logged."""
        return self.run("journalctl", "--quiet", "--no-pager", *options)

    def stop(self) -> None:
        """End it with all that runs on it, as if its power was cut."""
        if self._process is None:
            return
        for pid in (self._init, self._process.pid):
            if pid and self._process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._process.wait(_STOP_S)
        self._process = None
        self._remove_cgroups()

    def _remove_cgroups(self) -> None:
        deadline = time.monotonic() + _STOP_S
        while found := [*_HIERARCHIES.glob(f"*/{self._cgroup}")]:
            for top in found:
                for directory, _, _ in os.walk(top, topdown=False):
                    with contextlib.suppress(OSError):  # its last process has not ended yet
                        os.rmdir(directory)
            assert time.monotonic() < deadline, f"processes are left in {found}"


_ENVIRONMENT = (
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
    "LANG=C.UTF-8",
)


@contextlib.contextmanager
def booted(root: Path, prefix: Sequence[str] = ()) -> Iterator[BootedMachine]:
    """A system that runs until the end of the block. Raises CannotBoot."""
    machine = BootedMachine(root, prefix)
    try:
        machine.start()
        yield machine
    finally:
        machine.stop()
