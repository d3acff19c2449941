"""A Docker daemon of the tests' own, and an image that has Python and little else.

Everything lies in one temporary directory; nothing of a daemon that runs on the machine is
touched. Bridges and packet filters are left alone: containers use the machine's network.
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
from typing import NoReturn

from tests.watchdog import Watchdog, unmount

IMAGE = "determined-test:1"
_PACKAGES = ("python3-minimal", "python3", "bash", "dash", "coreutils", "base-files")
_PACKAGES += ("openssh-server", "openssh-client")


class CannotRun(Exception):
    """Docker cannot be had on this machine; the text says why."""


_START_S = 60.0
_STOP_S = 30.0


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

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
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
        command = [
            *("dockerd", "--data-root", str(self.root / "data")),
            *("--exec-root", str(self.root / "exec"), "--pidfile", str(self.root / "pid")),
            *("--containerd", str(self.root / "containerd.sock")),
            *("--host", self.address, "--bridge", "none", "--iptables=false"),
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

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Let it stand still, so that it takes calls and answers none."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the daemon, its containers and what it has started."""
        if self.process is not None and self.process.poll() is None:
            listed = self._docker("ps", "-aq").stdout.decode().split()
            if listed:
                self._docker("rm", "-f", *listed)
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

    def run(self, *arguments: str, stdin: bytes | None = None) -> str:
        """Run a command of Docker's client; what it prints."""
        done = self._docker(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def containers(self) -> list[str]:
        """Ids of all containers there are."""
        return self.run("ps", "-aq", "--no-trunc").split()

    def _docker(
        self, *arguments: str, stdin: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["docker", "-H", self.address, *arguments],
            input=stdin,
            capture_output=True,
            timeout=120,
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
def daemon(*options: str) -> Iterator[Daemon]:
    """A daemon that is gone at the end, with all it had. Raises CannotRun."""
    reason = missing()
    if reason is not None:
        raise CannotRun(reason)
    root = Path(tempfile.mkdtemp(prefix="det-docker-", dir="/tmp"))
    root.chmod(0o711)
    made = Daemon(root, *options)
    with Watchdog(root):
        try:
            made.start()
            yield made
        finally:
            made.stop()
            unmount(str(root))
            shutil.rmtree(root, ignore_errors=True)


def build_image(to: Daemon, scratch: Path) -> str:
    """Make the image of Debian's packages and load it into a daemon; its name. Raises CannotRun.

    The packages are unpacked, not configured: a tenth of the time that debootstrap takes.
    """
    packages, tree = scratch / "packages", scratch / "tree"
    packages.mkdir(parents=True)
    tree.mkdir()
    try:
        subprocess.run(
            ["apt-get", "download", "-qq", *_with_dependencies()],
            cwd=packages,
            check=True,
            capture_output=True,
            timeout=240,
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode()[-300:]
        raise CannotRun(f"Debian's packages are not to be had: {said}") from error
    for package in sorted(packages.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(tree)], check=True)
    (tree / "etc").mkdir(exist_ok=True)
    (tree / "etc/passwd").write_text(
        "root:x:0:0:root:/root:/bin/bash\nsshd:x:101:101::/run/sshd:/bin/sh\n"
    )
    (tree / "etc/group").write_text("root:x:0:\n")
    for name in ("bin/sh", "tmp", "root", "run", "run/sshd", "proc", "sys", "dev"):
        path = tree / name
        if name == "bin/sh":
            path.unlink(missing_ok=True)
            path.symlink_to("dash")
        else:
            path.mkdir(exist_ok=True)
    (tree / "tmp").chmod(0o1777)
    for name in ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/lib/dpkg"):
        shutil.rmtree(tree / name, ignore_errors=True)
    _compile(tree)
    with subprocess.Popen(["tar", "-C", str(tree), "-c", "."], stdout=subprocess.PIPE) as tar:
        assert tar.stdout is not None
        path = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        to.run("import", "--change", path, "-", IMAGE, stdin=tar.stdout.read())
    shutil.rmtree(scratch)
    return IMAGE


def _compile(tree: Path) -> None:
    """As the packages' own configuration does: without it every start compiles what it imports."""
    for library in tree.glob("usr/lib/python3*"):
        for name in ("idlelib", "lib2to3", "pydoc_data", "distutils", "unittest"):
            shutil.rmtree(library / name, ignore_errors=True)
    command = ["chroot", str(tree), "python3", "-m", "compileall", "-q", "/usr/lib"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def _with_dependencies() -> list[str]:
    """The packages and all they need, without the package manager's own configuration."""
    told = subprocess.run(
        [
            *("apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests"),
            *("--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", *_PACKAGES),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    left_out = ("debconf", "perl", "libperl", "dpkg", "tar", "mawk", "gawk", "original-awk")
    left_out += ("adduser", "passwd", "procps", "ucf", "sensible-utils", "lsb-base", "runit")
    left_out += ("usrmerge", "usr-is-merged", "libnewt", "libslang", "libtextwrap", "libdebian")
    left_out += ("libelogind", "libproc2", "libfile-find", "libnumber-compare", "libtext-glob")
    left_out += (
        "sysv",
        "init-",
        "libpam-modules",
        "libpam-runtime",
        "cdebconf",
        "mailcap",
        "media-types",
        "mime-",
        "gcc-",
        "install-info",
    )
    names = {
        line.strip() for line in told.splitlines() if line and not line.startswith((" ", "<"))
    }
    return sorted(n for n in names if not n.startswith(left_out) and ":" not in n)
