"""A Docker daemon of the tests' own.

Everything lies in one temporary directory; nothing of a daemon that runs on the machine is
touched. Packet filters are left alone: the daemon has a bridge of its own and changes no rules.
Containers of most tests use the machine's network, where masters and registries listen.

Docker without a bridge (`--bridge none`) deletes `docker0`, which is that of the machine's own
daemon. A daemon that must have none therefore runs in a network namespace of its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn

from tests.debian_tree import PATH, CannotRun, build_tree
from tests.standstill import standing_still
from tests.subnets import Bridge, CannotBridge, bridge
from tests.watchdog import Watchdog, interface_of, unmount

IMAGE = "determined-test:1"
_START_S = 60.0
_STOP_S = 30.0
_COMMAND_S = 600
"""Importing an image takes minutes on a machine that is busy with other tests."""


def missing() -> str | None:
    """Why Docker cannot be tested here, None when it can."""
    if os.getuid() != 0:
        return "a Docker daemon of the tests' own needs root"
    for program, package in (
        ("dockerd", "docker.io"),
        ("docker", "docker.io"),
        ("apt-get", "apt"),
    ):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian's package {package})"
    return None


class Daemon:
    """One daemon; can be stopped, killed and started again."""

    def __init__(self, root: Path, bridge: Bridge | None, *options: str) -> None:
        self.root = root
        self.bridge = bridge
        self.socket = root / "docker.sock"
        self.process: subprocess.Popen[bytes] | None = None
        self._containerd: subprocess.Popen[bytes] | None = None
        self._options = options

    @property
    def address(self) -> str:
        """As `docker_host` takes it."""
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start it; returns once it answers, or raises CannotRun."""
        if self._containerd is None:
            self._start_containerd()
        bridge = self.bridge.name if self.bridge else "none"
        command = [
            *(() if self.bridge else ("unshare", "--net")),
            *("dockerd", "--data-root", str(self.root / "data")),
            *("--exec-root", str(self.root / "exec"), "--pidfile", str(self.root / "pid")),
            *("--containerd", str(self.root / "containerd.sock")),
            *("--host", self.address, "--bridge", bridge, "--iptables=false"),
            *("--ip6tables=false", "--ip-forward=false", "--ip-masq=false"),
            *("--log-level", "warn", "--live-restore", "--max-download-attempts", "1"),
            *self._options,
        ]
        self.process = self._spawn(command)
        deadline = time.monotonic() + _START_S
        while self._docker("version").returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self._give_up("dockerd")
            time.sleep(0.05)

    def _start_containerd(self) -> None:
        """A process of its own, so that the daemon's death leaves containers alone."""
        config = self.root / "containerd.toml"
        config.write_text(
            f'version = 2\nroot = "{self.root}/content"\nstate = "{self.root}/state"\n'
            'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
            f'[grpc]\naddress = "{self.root}/containerd.sock"\n'
        )
        self._containerd = self._spawn(["containerd", "--config", str(config), "-l", "warn"])
        deadline = time.monotonic() + _START_S
        while not (self.root / "containerd.sock").exists():
            if self._containerd.poll() is not None or time.monotonic() > deadline:
                self._give_up("containerd")
            time.sleep(0.02)

    def _spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        with (self.root / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def _give_up(self, program: str) -> NoReturn:
        said = (self.root / "log").read_text(errors="replace")[-600:]
        self.stop()
        raise CannotRun(f"{program} does not run on this machine: {said}")

    def kill(self) -> None:
        """End the daemon alone, as if it had crashed; its containers run on."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """As `systemctl restart` does: its containers end, unless they are to outlive it."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(_STOP_S)
        self.start()

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Let it stand still, so that it takes calls and answers none."""
        assert self.process is not None
        with standing_still(self.process.pid):
            yield

    def stop(self) -> None:
        """End the daemon, its containers and what it has started."""
        if self.process is not None and self.process.poll() is None:
            listed = self._docker("ps", "-aq").stdout.decode().split()
            if listed:
                self._docker("rm", "-f", *listed)
        started = [path.name for path in self.root.glob("state/io.containerd.*/moby/*")]
        for process in (self.process, self._containerd):
            if process is not None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_STOP_S)
        for pid in processes_of(self.root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in (self.process, self._containerd):
            if process is not None:
                process.wait()
        self.process = self._containerd = None
        for container in started:  # those that it has forgotten
            for path in Path("/sys/fs/cgroup").glob(f"**/docker/{container}"):
                with contextlib.suppress(OSError):  # it is removed just now
                    path.rmdir()

    def run(self, *arguments: str, stdin: IO[bytes] | None = None) -> str:
        """Run a command of Docker's client; what it prints."""
        done = self._docker(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def containers(self) -> list[str]:
        """Ids of all containers there are."""
        return self.run("ps", "-aq", "--no-trunc").split()

    def _docker(
        self, *arguments: str, stdin: IO[bytes] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["docker", "-H", self.address, *arguments],
            stdin=stdin or subprocess.DEVNULL,
            capture_output=True,
            timeout=_COMMAND_S,
            env={"PATH": os.environ["PATH"], "HOME": str(self.root)},
        )


def processes_of(root: Path) -> list[int]:
    """Processes that a daemon in that directory has started and that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if any(str(root).encode() in word for word in words):
                found.append(int(path.parent.name))
    return [pid for pid in found if pid != os.getpid()]


@contextlib.contextmanager
def daemon(
    *options: str, data_bytes: int | None = None, has_bridge: bool = True
) -> Iterator[Daemon]:
    """A daemon that is gone at the end, with all it had.

    Args:
        options: of `dockerd`; the last of a flag wins.
        data_bytes: size of a disk of its own for its data.
        has_bridge: without one, it reaches no registry, and its containers have no network.

    Raises CannotRun.
    """
    reason = missing()
    if reason is not None:
        raise CannotRun(reason)
    root = Path(tempfile.mkdtemp(prefix="det-docker-", dir="/tmp"))
    root.chmod(0o711)
    with Watchdog(root), contextlib.ExitStack() as stack:
        try:
            own = stack.enter_context(bridge(interface_of(root))) if has_bridge else None
        except CannotBridge as error:
            root.rmdir()
            raise CannotRun(str(error)) from error
        made = Daemon(root, own, *options)
        if data_bytes is not None:
            (root / "data").mkdir()
            size = f"size={data_bytes}"
            command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(root / "data")]
            subprocess.run(command, check=True)
        try:
            made.start()
            yield made
        finally:
            made.stop()
            unmount(str(root))
            shutil.rmtree(root, ignore_errors=True)


def build_image(to: Daemon, scratch: Path) -> str:
    """Make the image and load it into a daemon; its name. Raises CannotRun."""
    build_tree(scratch / "tree")
    import_image(to, scratch / "tree")
    shutil.rmtree(scratch)
    return IMAGE


def import_image(to: Daemon, tree: Path) -> None:
    """Make an image of a directory's files."""
    with subprocess.Popen(["tar", "-C", str(tree), "-c", "."], stdout=subprocess.PIPE) as tar:
        assert tar.stdout is not None
        to.run("import", "--change", f"ENV PATH={PATH}", "-", IMAGE, stdin=tar.stdout)
