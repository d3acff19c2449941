"""The order to the shim, and its child process, which becomes the task's program.

Standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import sys
import warnings  # noqa: F401  used by exec; the task's account may not read Python's directory

from determined_agent.shim.isolation import INIT_PID, become_init, private_mounts

MAGIC = b"determined-shim-3"
SET_CHILD_SUBREAPER = 36
_SET_NO_NEW_PRIVS = 38
_SET_PDEATHSIG = 1


class ShimOrder:
    """The command to run: fields separated by NUL, the last one `end`."""

    def __init__(self, payload: bytes) -> None:
        fields = payload.split(b"\0")
        if fields[0] != MAGIC or fields[-1] != b"end":
            raise ValueError("the order on descriptor 0 is incomplete")
        self.cwd = fields[1]
        self.uid = int(fields[2])
        self.gid = int(fields[3])
        self.spool_bytes = int(fields[4])
        self.max_processes = int(fields[5])
        self.is_relay = fields[6] == b"1"
        self.groups = os.fsdecode(fields[7]).split("\n")
        self.groups = [group for group in self.groups if group]
        """Its cgroups."""
        self.has_pids_group = any(
            os.path.exists(os.path.join(group, "pids.max")) for group in self.groups
        )
        self.private = os.fsdecode(fields[8])
        """Directory of its own temporary directories; empty if it shares those of the machine."""
        first_argument = 11 + int(fields[9])
        self.kept = [os.fsdecode(path) for path in fields[10 : first_argument - 1]]
        """Directories of the machine that it has in spite of that."""
        last_argument = first_argument + int(fields[first_argument - 1])
        self.argv = fields[first_argument:last_argument]
        self.env = dict(item.partition(b"=")[::2] for item in fields[last_argument:-1])


def exec_task(
    order: ShimOrder,
    libc: ctypes.CDLL,
    shim_pid: int,
    fds: tuple[int, int, int],
    forwarded: tuple[int, ...],
) -> None:
    """In the child: execute the task's program, or report why that failed and exit."""
    out_w, err_w, fail_w = fds
    program = os.fsdecode(order.argv[0])
    stage = "prepare the process"
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        if order.private:
            stage = "get temporary directories and process ids of its own"
            prctl(libc, _SET_PDEATHSIG, signal.SIGKILL)
            private_mounts(libc, order.private, order.kept)
            become_init(forwarded)
            os.setpgid(0, 0)
            shim_pid = INIT_PID
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores them, and children inherit that
        os.dup2(out_w, 1)
        os.dup2(err_w, 2)
        stage = "limit its processes"
        _limit_processes(order)
        if os.getuid() == 0 and order.uid != 0:
            stage = f"become user {order.uid}, group {order.gid}"
            os.setgroups([order.gid])
            os.setgid(order.gid)
            os.setuid(order.uid)
        if os.getuid() != 0:
            prctl(libc, _SET_NO_NEW_PRIVS, 1)
        prctl(libc, _SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != shim_pid:
            os._exit(255)
        stage = f"enter the work directory {os.fsdecode(order.cwd)}"
        os.chdir(order.cwd)
        stage = f"run '{program}'"
        os.execvpe(order.argv[0], order.argv, order.env)
    except Exception as error:  # whatever it is, this process must not continue as a second shim
        os.write(fail_w, f"cannot {stage}: {_error_text(error, order)}".encode())
    os._exit(255)


def _limit_processes(order: ShimOrder) -> None:
    """Limit the number of processes of the task's program and its descendants."""
    for group in order.groups:
        write_file(os.path.join(group, "cgroup.procs"), b"0\n")
    if order.max_processes and not order.has_pids_group:
        _, most = resource.getrlimit(resource.RLIMIT_NPROC)
        limit = order.max_processes
        if most != resource.RLIM_INFINITY:
            limit = min(limit, most)
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def write_file(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def _error_text(error: Exception, order: ShimOrder) -> str:
    if not isinstance(error, OSError):
        return str(error)
    text = os.strerror(error.errno or 0)
    if error.errno == errno.ENOENT and b"/" not in order.argv[0]:
        return f"{text} (searched in PATH {os.fsdecode(order.env.get(b'PATH', b''))})"
    if error.errno == errno.E2BIG:
        size = sum(len(k) + len(v) for k, v in order.env.items())
        return (
            f"{text} (the environment takes {size} bytes; the kernel allows 128 KiB a variable "
            "and some 2 MiB together: shorten the configuration or the hyperparameters)"
        )
    return text


def prctl(libc: ctypes.CDLL, option: int, value: int) -> None:
    if sys.platform == "linux":
        libc.prctl(option, value, 0, 0, 0)
