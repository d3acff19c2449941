"""Temporary directories and process ids of a task's own, by namespaces of the kernel.

Standard library only. Only root can make these namespaces, so tasks that run as another account
than the agent get them. The shim stays outside: an agent finds it again by its process id.

The shim's child becomes the first process of the task's process ids (`init`) and forks the task's
program. When the first process ends, the kernel kills all others of its namespace.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import stat
import sys

SHARED = ("/tmp", "/var/tmp")
"""Directories that every account of a machine may write."""
INIT_PID = 1

_NEW_MOUNTS, _NEW_PIDS = 0x00020000, 0x20000000
_BIND, _RECURSIVE, _SLAVE = 4096, 16384, 1 << 19
_NO_SUID, _NO_DEVICES, _NO_PROGRAMS = 2, 4, 8
_PATH_ONLY = os.O_PATH | os.O_CLOEXEC if sys.platform == "linux" else 0
_LOWEST_FD = 3


def probe(directory: str) -> str:
    """Why tasks cannot be isolated here; empty if they can. Call it once in a process.

    Args:
        directory: an empty one.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        new_process_ids(libc)
        pid = os.fork()
    except OSError as error:
        return str(error)
    if pid == 0:
        os._exit(_try_mounts(libc, directory))
    number = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return os.strerror(number) if number > 0 else "" if number == 0 else "the probe was killed"


def new_process_ids(libc: ctypes.CDLL) -> None:
    """The next process that this one forks has process ids of its own. Raises OSError."""
    _check(libc.unshare(_NEW_PIDS), "unshare process ids")


def private_mounts(libc: ctypes.CDLL, private: str, visible: list[str]) -> None:
    """Give this process the directories in `private` for the shared ones, and a /proc of its own.

    Args:
        libc: the C library.
        private: a directory with one for each of `SHARED`, by number.
        visible: directories of the machine that stay as they are, also below shared ones.

    Raises:
        OSError: the kernel refuses.
    """
    _check(libc.unshare(_NEW_MOUNTS), "unshare mounts")
    _mount(libc, "none", "/", _RECURSIVE | _SLAVE)
    mounts = []  # opened before the first one hides the others
    for number, place in enumerate(SHARED):
        if place in visible or not os.path.isdir(place) or os.path.islink(place):
            continue
        own = os.path.join(private, str(number))
        mounts.append((place, os.open(own, _PATH_ONLY), _BIND))
        for path in _without_nested(visible):
            fd = _mirror(place, path, own) if path.startswith(f"{place}/") else None
            if fd is not None:
                mounts.append((path, fd, _BIND | _RECURSIVE))
    for path, fd, flags in mounts:
        _mount(libc, f"/proc/self/fd/{fd}", path, flags)
        os.close(fd)
    flags = _NO_SUID | _NO_DEVICES | _NO_PROGRAMS
    _mount(libc, "proc", "/proc", flags, "proc")


def _without_nested(paths: list[str]) -> list[str]:
    """Those that are not below another one."""
    return [p for p in paths if not any(p.startswith(f"{other}/") for other in paths)]


def _mirror(place: str, path: str, own: str) -> int | None:
    """Make the directories of a path below another one, with the same owners and modes.

    So an account reaches no more than it does without the mounts. Links are not followed.

    Returns:
        A descriptor of the path; None if it is not there.
    """
    fd = os.open(place, _PATH_ONLY)
    for part in path[len(place) + 1 :].split("/"):
        try:
            child = os.open(part, _PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
        except OSError:
            return None
        finally:
            os.close(fd)
        fd, own = child, os.path.join(own, part)
        status = os.fstat(fd)
        with contextlib.suppress(FileExistsError):
            os.mkdir(own)
        os.chown(own, status.st_uid, status.st_gid)
        os.chmod(own, stat.S_IMODE(status.st_mode))
    return fd


def become_init(forwarded: tuple[int, ...]) -> None:
    """Fork; return in the child. The parent is `init` and ends as the child does.

    Args:
        forwarded: signals that the child's process group gets, too.
    """
    init = _Init()
    for number in forwarded:
        signal.signal(number, init.forward)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        return
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(_LOWEST_FD, os.sysconf("SC_OPEN_MAX"))
    init.serve(child)


class _Init:
    """The first process of the task's process ids."""

    def __init__(self) -> None:
        self._child = 0
        self._early: list[int] = []

    def forward(self, number: int, _: object) -> None:
        if not self._child:
            self._early.append(number)
            return
        with contextlib.suppress(OSError):  # it is about to end
            os.kill(-self._child, number)

    def serve(self, child: int) -> None:
        """Reap orphans until the child has ended; never returns."""
        self._child = child
        for number in self._early:
            self.forward(number, None)
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                os._exit(255)
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                os._exit(code if code >= 0 else 128 - code)


def _try_mounts(libc: ctypes.CDLL, directory: str) -> int:
    try:
        for number in range(len(SHARED)):
            os.mkdir(os.path.join(directory, str(number)))
        private_mounts(libc, directory, [])
    except OSError as error:
        return error.errno or 1
    return 0


def _mount(libc: ctypes.CDLL, source: str, target: str, flags: int, kind: str = "") -> None:
    result = libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        None,
    )
    _check(result, f"mount {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)} ({what})")
