"""Holds the pipes open through which a container's output reaches Docker's daemon.

containerd's shim writes the container's output into two named pipes, and the daemon reads them.
While the daemon is down they fill. If the container ends then, the shim closes them, and
their content is lost unless another process has them open; so the agent opens them too. It reads
nothing while the daemon may read, since each byte can be read only once.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat

_SHIM = b"containerd-shim"
_STREAMS = (("stdout", 0), ("stderr", 1))
"""Suffixes of the pipes' names, and the streams of the spool."""
_CAPACITY_BYTES = 1024 * 1024
"""A task that writes more than this while the daemon is down blocks until it is back."""
_PIECE_BYTES = 64 * 1024


class OutputPipes:
    """The open pipes of one container, which keep their content until `close`."""

    def __init__(self, held: list[tuple[int, int]]) -> None:
        """`held`: streams (0 stdout, 1 stderr) and descriptors."""
        self._held = held

    def read_rest(self) -> list[tuple[int, bytes]]:
        """Read what the daemon has left: streams and pieces of at most 64 KiB."""
        pieces = []
        for stream, descriptor in self._held:
            with contextlib.suppress(BlockingIOError):  # a writer has it open but writes nothing
                while piece := os.read(descriptor, _PIECE_BYTES):
                    pieces.append((stream, piece))
        return pieces

    def close(self) -> None:
        for _, descriptor in self._held:
            os.close(descriptor)
        self._held = []


def open_pipes(docker_id: str, pid: int) -> OutputPipes | None:
    """Open a container's pipes; None if that fails, or the daemon runs elsewhere.

    Args:
        docker_id: the container's id.
        pid: its first process as the daemon reports it, perhaps of another machine or namespace.
    """
    held: dict[int, int] = {}
    try:
        shim = _parent(pid)
        if not _is_shim_of(shim, docker_id):
            return None
        for name in os.listdir(f"/proc/{shim}/fd"):
            path = f"/proc/{shim}/fd/{name}"
            stream = _stream(os.readlink(path), docker_id)
            if stream is not None and stream not in held and stat.S_ISFIFO(os.stat(path).st_mode):
                held[stream] = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                with contextlib.suppress(OSError):
                    fcntl.fcntl(held[stream], fcntl.F_SETPIPE_SZ, _CAPACITY_BYTES)
    except (OSError, ValueError):
        OutputPipes(list(held.items())).close()
        return None
    return OutputPipes(list(held.items())) if held else None


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])


def _is_shim_of(pid: int, docker_id: str) -> bool:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read().split(b"\0")
    return _SHIM in words[0] and docker_id.encode() in words


def _stream(path: str, docker_id: str) -> int | None:
    if docker_id not in path:
        return None
    return next((stream for end, stream in _STREAMS if path.endswith(end)), None)
