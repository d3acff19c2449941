"""The agent's view of a shim: starting it, finding it again, its end, and its signals."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
from pathlib import Path

import msgspec

import determined_agent
from determined_agent import clock
from determined_agent.container.directory import GONE, SHIM, ContainerDirectory, Exit, unwatched
from determined_agent.runtimes.process.cgroups import cgroup_members, read_out_of_memory
from determined_agent.shim.process_tree import kill_all, kill_below, send
from determined_agent.shim.program import KILL_ALL, LOCK_FD
from determined_wire.agent_link import Address, Failure

_KILL_TIMEOUT_S = 5.0
"""Time after which the agent kills the processes itself if the shim does not."""
_PID_WAIT_S = 60.0
"""A shim has its command line at once, on a very busy machine far later."""
_GONE_S = 30.0
"""A killed process that still exists then hangs in the kernel and cannot be ended."""
_BOOT = "import sys; sys.path.append({0!r}); from " + SHIM + " import main; {1}"


class ShimProcess:
    """A shim that runs or has just ended; implements `runtimes.base.Handle`."""

    def __init__(
        self, directory: ContainerDirectory, pid: int, pidfd: int, ports: tuple[int, ...]
    ) -> None:
        self._directory = directory
        self._pid = pid
        self._pidfd = pidfd
        self._ports = ports
        self._was_killed = False
        self._start_answer: asyncio.Future[bytes] | None = None
        self._exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._kill_timer: asyncio.TimerHandle | None = None
        self._cleaning: asyncio.Task[None] | None = None
        asyncio.get_running_loop().add_reader(pidfd, self._on_exit)

    def await_start_answer(self, fd: int) -> None:
        """Read the shim's report about its start from this end of a pipe."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bytes] = loop.create_future()
        self._start_answer = answer

        def read() -> None:
            loop.remove_reader(fd)
            data = os.read(fd, 65536)
            os.close(fd)
            if not answer.done():
                answer.set_result(data)

        loop.add_reader(fd, read)

    async def started(self) -> str | None:
        """Wait for the start; return None, or `task: ` or `agent: ` and the error."""
        if self._start_answer is None:
            return None
        text = (await self._start_answer).decode("utf-8", "replace").strip()
        if text == "ok":
            return None
        if text.startswith("error cannot write"):
            return f"agent: {text[6:]}"
        if text.startswith("error "):
            return f"task: {text[6:]}"
        return f"agent: its shim ended before it could start the task {self._last_log_line()}"

    async def wait(self) -> Exit:
        """Wait for the end of the task and of all its descendants."""
        return await asyncio.shield(self._exit)

    def signal(self, number: int) -> None:
        """Send a signal to the task's process group; 9 kills its whole tree."""
        if self._exit.done():
            return
        self._was_killed = self._was_killed or number == signal.SIGKILL
        if self._cleaning is not None:
            return  # the shim has ended, and the processes it left are being killed
        if number != signal.SIGKILL:
            self._send(number)
            return
        self._send(KILL_ALL)
        if self._kill_timer is None:
            loop = asyncio.get_running_loop()
            self._kill_timer = loop.call_later(_KILL_TIMEOUT_S, self._kill_directly)

    def addresses(self) -> tuple[Address, ...]:
        """Return the ports, which are those of the machine."""
        return tuple(Address("", port, "", port) for port in self._ports)

    def detach(self) -> None:
        """Stop watching; the shim and its task keep running."""
        if self._kill_timer is not None:
            self._kill_timer.cancel()
        if self._cleaning is not None:
            self._cleaning.cancel()
        if not self._exit.done():
            self._exit.cancel()
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            signal.pidfd_send_signal(self._pidfd, number)

    def _kill_directly(self) -> None:
        """Kill the tree of a stopped or hung shim, then the shim."""
        kill_below(self._pid)
        send(self._pid, signal.SIGKILL)

    def _on_exit(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        if self._kill_timer is not None:
            self._kill_timer.cancel()
        with contextlib.suppress(ChildProcessError):  # an earlier agent started it
            os.waitpid(self._pid, os.WNOHANG)
        end = self._directory.exit()
        if end is None:
            self._cleaning = asyncio.get_running_loop().create_task(self._clean_up())
        elif not self._exit.done():
            self._exit.set_result(_with_memory(end, self._directory.container_id))

    async def _clean_up(self) -> None:
        """Kill what a shim that wrote no status has left; then the task has ended."""
        try:
            await kill_leftovers(self._directory.container_id)
        finally:  # a caller waits for the end in any case
            if not self._exit.done():
                self._exit.set_result(
                    exit_without_status(self._directory, was_killed=self._was_killed)
                )

    def _last_log_line(self) -> str:
        try:
            lines = self._directory.shim_log.read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return f"({lines[-1]})" if lines else ""


def start_shim(
    directory: ContainerDirectory, payload: bytes, ports: tuple[int, ...]
) -> ShimProcess:
    """Start a shim with an order. Raises OSError."""
    lock_fd = directory.lock()
    if lock_fd is None:
        raise OSError(f"{directory.path} is in use by another shim")
    fds = [lock_fd]
    try:
        order_fd = os.memfd_create("order")
        fds.append(order_fd)
        os.write(order_fd, payload)
        os.lseek(order_fd, 0, os.SEEK_SET)
        log_fd = os.open(directory.shim_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        fds.append(log_fd)
        read_fd, write_fd = os.pipe()
        fds.append(write_fd)
        pid = _spawn(directory.path, (order_fd, write_fd, log_fd, lock_fd))
    finally:
        for fd in fds:
            os.close(fd)
    shim = ShimProcess(directory, pid, os.pidfd_open(pid), ports)
    shim.await_start_answer(read_fd)
    return shim


async def find_shim(directory: ContainerDirectory, ports: tuple[int, ...]) -> ShimProcess | Exit:
    """Return the shim of a task that an earlier agent started, or how the task ended."""
    lock_fd = directory.lock()
    if lock_fd is not None:
        os.close(lock_fd)
        return await _past_exit(directory)
    deadline = clock.monotonic_s() + _PID_WAIT_S
    while clock.monotonic_s() < deadline:
        pid = directory.shim_pid()
        if pid is not None:
            try:
                pidfd = os.pidfd_open(pid)
            except ProcessLookupError:
                pidfd = -1
            if pidfd >= 0 and directory.shim_pid() == pid:
                return ShimProcess(directory, pid, pidfd, ports)
            if pidfd >= 0:
                os.close(pidfd)
        await asyncio.sleep(0.01)
        lock_fd = directory.lock()
        if lock_fd is not None:
            os.close(lock_fd)
            return await _past_exit(directory)
    return await _past_exit(directory)


def exit_without_status(directory: ContainerDirectory, *, was_killed: bool) -> Exit:
    """Return the end of a task if its shim has written no status."""
    if was_killed:
        failure = Failure("container_failed", "container was killed", 137)
        return Exit(exit_code=137, failure=failure)
    message = f"{GONE}: the task's shim ended without a status"
    if not directory.had_shim():
        message = "the agent ended before it could start the task"
    return Exit(failure=Failure("restore_error", message))


async def kill_leftovers(container_id: str) -> None:
    """Kill the processes that a shim has left, and return when they have ended.

    A killed process holds its resources until it has ended. If the master learned of the end
    earlier, it would assign the devices to another task.
    """
    marker = f"DET_CONTAINER_ID={container_id}".encode()

    def remaining() -> list[int]:
        return [*_members(marker), *cgroup_members(container_id)]

    give_up_at = clock.monotonic_s() + _GONE_S
    pause_s = 0.001
    while remaining() and clock.monotonic_s() < give_up_at:
        kill_all(remaining)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.1)


def _spawn(directory: Path, fds: tuple[int, int, int, int]) -> int:
    source = str(Path(determined_agent.__file__).parent.parent)
    run = "sys.exit(main(sys.argv[1]))"
    argv = [sys.executable, "-I", "-S", "-c", _BOOT.format(source, run), str(directory)]
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in fds]
    try:
        actions = [(os.POSIX_SPAWN_DUP2, fd, n) for n, fd in enumerate(moved)]
        assert actions[LOCK_FD][2] == LOCK_FD
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_CTYPE": "C.UTF-8"}
        return os.posix_spawn(sys.executable, argv, environment, file_actions=actions, setsid=True)
    finally:
        for fd in moved:
            os.close(fd)


async def _past_exit(directory: ContainerDirectory) -> Exit:
    """Return how a task without a running shim ended, once its processes have ended."""
    end = directory.exit()
    if end is None:
        await kill_leftovers(directory.container_id)
        return exit_without_status(directory, was_killed=False)
    return unwatched(end)


def _with_memory(end: Exit, container_id: str) -> Exit:
    """The end with what the task's cgroup says, if a kill may have been for its memory."""
    if end.failure is None or end.exit_code != 128 + signal.SIGKILL:
        return end
    failure = msgspec.structs.replace(end.failure, out_of_memory=read_out_of_memory(container_id))
    return msgspec.structs.replace(end, failure=failure)


def _members(marker: bytes) -> list[int]:
    """Return the processes with a task's marker in their environment.

    The shim's session is not used: after its end the id may belong to other processes.
    """
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                environ = Path(f"/proc/{name}/environ").read_bytes()
            except OSError:
                continue
            if marker in environ.split(b"\0"):
                pids.append(int(name))
    return pids
