"""Ends what a test run has started when the run is gone, however it went.

A run that is interrupted, killed or out of time never reaches the ends of its fixtures, and what
they have started has sessions of its own. A watchdog is one small process for one directory: when
its owner's end of a pipe closes without a word, it ends every process that has the directory in
its command line or its environment, with all of their children, and removes the directory
with that of its database (`quick_disk.py`), to which a link in it leads, and its bridge.

Standard library only: it is started without site packages, in some 20 ms.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

_PATIENCE_S = 3.0
_LIMIT_S = 30.0
_DISMISSED = b"dismissed"
_DATABASES = ("/tmp/det-", "/dev/shm/det-")
_OURS = ("/tmp/", "/dev/shm/det-")


class Watchdog:
    """Watches over a directory until it is dismissed."""

    def __init__(self, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,  # what interrupts the run must not reach it
        )
        assert self._process.stdin is not None
        self._process.stdin.write(f"{root}\n".encode())
        self._process.stdin.flush()

    @property
    def pid(self) -> int:
        """Of the watching process."""
        return self._process.pid

    def dismiss(self) -> None:
        """The owner has cleared up by itself."""
        self._process.communicate(_DISMISSED)

    def __enter__(self) -> Watchdog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dismiss()


def main() -> None:
    """Wait for the owner's word or its end."""
    root = sys.stdin.buffer.readline().strip().decode()
    if sys.stdin.buffer.read() == _DISMISSED or not root.startswith(_OURS):
        return
    end_all(root)
    unmount(root)
    remove_interface(interface_of(Path(root)))
    for link in Path(root).glob("*"):
        if link.is_symlink() and os.readlink(link).startswith(_DATABASES):
            shutil.rmtree(os.readlink(link), ignore_errors=True)
    shutil.rmtree(root, ignore_errors=True)


def end_all(root: str) -> None:
    """End the processes of a directory: first as they like it, then for sure."""
    began = time.monotonic()
    while found := members(root):
        waited = time.monotonic() - began
        if waited > _LIMIT_S:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM if waited < _PATIENCE_S else signal.SIGKILL)
        time.sleep(0.2)


def members(root: str) -> set[int]:
    """Processes that have a directory in their command line or environment, and their children."""
    mark = root.encode()
    parents: dict[int, list[int]] = {}
    found: set[int] = set()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        pid = int(name)
        with contextlib.suppress(OSError, IndexError, ValueError):
            after_name = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            if after_name[0] == b"Z":
                continue
            parents.setdefault(int(after_name[1]), []).append(pid)
            if any(_has(f"/proc/{pid}/{file}", mark) for file in ("cmdline", "environ")):
                found.add(pid)
    level = set(found)
    while level:
        level = {child for pid in level for child in parents.get(pid, ())} - found
        found |= level
    return found


def unmount(root: str) -> None:
    """Let go of what a daemon that was killed has left mounted below a directory."""
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for path in sorted((m for m in mounted if m.startswith(f"{root}/")), reverse=True):
        subprocess.run(["/bin/umount", "-l", path], capture_output=True, check=False)


def interface_of(root: Path) -> str:
    """The name of the network interface that a directory may have."""
    return f"det-{root.name[-8:]}"


def remove_interface(name: str) -> None:
    """Remove a network interface, if it is there."""
    if (ip := shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin")) is not None:
        subprocess.run([ip, "link", "delete", name], capture_output=True, check=False)


def _has(path: str, mark: bytes) -> bool:
    words = Path(path).read_bytes().split(b"\0")
    return any(word == mark or mark + b"/" in word or word.endswith(b"=" + mark) for word in words)


if __name__ == "__main__":
    main()
