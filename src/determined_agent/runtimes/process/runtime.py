"""Runs tasks as plain processes under the shim: for laptops, tests and demos.

It provides no isolation. Linux only: it needs /proc, pidfd and the child subreaper.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from determined_agent import clock
from determined_agent.container.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.container.environment import (
    ContainerStart,
    HostEnvironment,
    ignored_options,
    process_environment,
    to_host_path,
)
from determined_agent.runtimes import storage_mounts
from determined_agent.runtimes.base import LaunchFailed, RuntimeUnavailable
from determined_agent.runtimes.harness import interpreter, link_harness
from determined_agent.runtimes.process.accounts import TaskAccounts
from determined_agent.runtimes.process.cgroups import (
    GroupLimits,
    has_memory_limit,
    make_cgroups,
    remove_cgroup,
)
from determined_agent.runtimes.process.isolation import (
    agent_directories,
    find_obstacle,
    kept_directories,
)
from determined_agent.runtimes.process.shim_process import ShimProcess, find_shim, start_shim
from determined_agent.runtimes.process.strays import end_strays
from determined_agent.runtimes.task_files import make_dirs, make_run_dir, put_file
from determined_agent.settings.options import Settings
from determined_agent.shim.child import MAGIC
from determined_agent.shim.isolation import SHARED
from determined_agent.shim.spool import NOTE, SpoolWriter
from determined_wire.agent_link import ContainerState, Failure, TaskUser

log = logging.getLogger(__name__)

_START_S = 30.0
"""A shim that has not started its task by then is considered hung."""


class TaskCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A program to run under the shim."""

    cwd: str
    argv: list[str]
    env: dict[str, str]
    is_relay: bool = False
    """Whether it forwards signals to the task's program."""


class ProcessRuntime:
    """Runs each task under its own shim."""

    name = "process"

    def __init__(self, settings: Settings, root: Path) -> None:
        """
        Args:
            settings: the agent's.
            root: the directory that holds those of the tasks.
        """
        self._settings = settings
        self._root = root
        self._host: HostEnvironment | None = None
        self._unisolated: str | None = None
        """Why tasks cannot be isolated here; None before the first one that should be."""
        self._told_memory = False
        self._accounts = TaskAccounts()

    async def check(self) -> None:
        if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
            raise RuntimeUnavailable(
                "container_runtime 'process' needs Linux 5.3 or later, this is "
                f"{sys.platform}: run the agent on such a machine"
            )
        if os.getuid() != 0:
            log.info("tasks run as the account of this agent", extra={"uid": os.getuid()})
        else:
            log.warning(
                "this agent runs as root: tasks run as their agent user or the master's "
                "security.default_task, and as root where neither names an account"
            )

    async def launch(
        self,
        directory: ContainerDirectory,
        start: ContainerStart,
        progress: Callable[[ContainerState], None],
    ) -> ShimProcess:
        """Write the files and start the shim. Raises LaunchFailed."""
        progress("STARTING")
        if obstacle := await asyncio.to_thread(self._account_problem, start):
            raise LaunchFailed(_task_error(obstacle))
        try:
            self._note_ignored(directory, start)
            payload = self._prepare(directory, start)
            shim = start_shim(directory, payload, start.spec.ports)
        except OSError as error:
            raise LaunchFailed(_agent_error(str(error))) from error
        except ValueError as error:
            raise LaunchFailed(_task_error(str(error))) from error
        try:
            problem = await asyncio.wait_for(shim.started(), _START_S)
        except TimeoutError:
            problem = f"agent: its shim did not answer for {_START_S:.0f} s"
        except asyncio.CancelledError:
            await _kill(shim)
            raise
        if problem is None:
            return shim
        await _kill(shim)
        kind, _, text = problem.partition(": ")
        if kind == "agent":
            raise LaunchFailed(_agent_error(text))
        raise LaunchFailed(_task_error(text))

    async def attach(
        self, directory: ContainerDirectory, record: ContainerRecord
    ) -> ShimProcess | Exit:
        """Find the shim by its lock, process id and start time."""
        return await find_shim(directory, record.ports)

    async def remove(self, container_id: str) -> None:
        """Remove the task's cgroup; a process leaves nothing else outside its directory."""
        remove_cgroup(container_id)

    async def sweep(self, containers: frozenset[str]) -> None:
        """End tasks whose directory is spoilt or gone."""
        await end_strays(self._root, containers)

    def _account_problem(self, start: ContainerStart) -> str:
        """Why the account of a task cannot run it; empty if it can."""
        user = _other_user(start)
        if user is None or "DET_PYTHON_EXECUTABLE" in start.spec.environment:
            return ""  # the agent's own account, or a Python of the task's own
        return self._accounts.find_problem(user, self._host_facts(None, ""))

    def _ignored(self, start: ContainerStart) -> str:
        """Return the note about ignored options for the task's log; empty if there are none."""
        ignored = ignored_options(start.spec, may_switch_user=os.getuid() == 0)
        if not ignored:
            return ""
        return (
            "this agent runs tasks as plain processes of its machine (container_runtime "
            f"process) and ignores {', '.join(ignored)}"
        )

    def _note_ignored(self, directory: ContainerDirectory, start: ContainerStart) -> None:
        text = self._ignored(start)
        if not text:
            return
        writer = SpoolWriter(str(directory.output), self._settings.log_spool_bytes)
        writer.write(NOTE, int(clock.now().timestamp() * 1e6), text.encode())
        writer.close()

    def _prepare(self, directory: ContainerDirectory, start: ContainerStart) -> bytes:
        """Write the task's files and return the shim's order. Raises OSError, ValueError."""
        spec = start.spec
        run_dir = str(directory.run_dir)
        user = _other_user(start)
        make_run_dir(directory, user)
        for file in spec.files:
            path = to_host_path(file.path, run_dir)
            if path != file.path:
                owner = None if file.is_root_owned else user
                put_file(path, file.content, file.mode, owner)
        mounts = tuple(m for m in spec.mounts if storage_mounts.prepare(m, user))
        start = msgspec.structs.replace(start, spec=msgspec.structs.replace(spec, mounts=mounts))
        command = self._command(directory, start, user)
        uid, gid = (user.uid, user.gid) if user else (0, 0)
        limit = self._settings.container_pids_limit
        group = "\n".join(self._make_cgroups(start.container_id))
        numbers = (uid, gid, self._settings.log_spool_bytes, limit, int(command.is_relay))
        variables = (f"{name}={value}" for name, value in command.env.items())
        size = str(len(command.argv))
        private, visible = self._isolation(directory, start, command, user)
        isolation = [private, str(len(visible)), *visible]
        fields = [command.cwd, *map(str, numbers), group, *isolation]
        fields += [size, *command.argv, *variables]
        if any("\0" in field for field in fields):
            raise ValueError("a NUL in an argument or an environment variable of the task")
        encoded = [field.encode("utf-8", "surrogateescape") for field in fields]
        return b"\0".join([MAGIC, *encoded, b"end"])

    def _command(
        self, directory: ContainerDirectory, start: ContainerStart, user: TaskUser | None
    ) -> TaskCommand:
        """Return the command that the shim runs. Raises OSError, ValueError."""
        run_dir = str(directory.run_dir)
        cwd = to_host_path(start.spec.work_dir or "/run/determined/workdir", run_dir)
        make_dirs(cwd, 0o700, user)
        env = process_environment(start, self._settings, self._host_facts(user, cwd), run_dir)
        argv = [to_host_path(argument, run_dir) for argument in start.spec.entrypoint]
        if not argv:
            raise ValueError("the container's entry point is empty")
        return TaskCommand(cwd=cwd, argv=argv, env=env)

    def _make_cgroups(self, container_id: str) -> list[str]:
        limits = GroupLimits(
            pids=self._settings.container_pids_limit, memory=self._settings.container_memory_limit
        )
        cgroups = make_cgroups(container_id, limits)
        is_limited = any(has_memory_limit(group) for group in cgroups)
        if limits.memory and not is_limited and not self._told_memory:
            self._told_memory = True
            log.warning("container_memory_limit has no effect: no cgroup can be made for it")
        return cgroups

    def _isolation(
        self,
        directory: ContainerDirectory,
        start: ContainerStart,
        command: TaskCommand,
        user: TaskUser | None,
    ) -> tuple[str, list[str]]:
        """The directory of a task's own temporary directories, and those of the machine it keeps.

        A task of the agent's own account can read everything of the agent, so it gets none.
        """
        if user is None or command.is_relay or not self._settings.process_isolation:
            return "", []
        if self._unisolated is None:
            self._unisolated = find_obstacle()
        if self._unisolated:
            return "", []
        private = directory.path / "private"
        for number in range(len(SHARED)):
            own = private / str(number)
            own.mkdir(parents=True, exist_ok=True)
            own.chmod(0o1777)
        paths = [str(directory.run_dir), command.cwd, str(self._root / "pythonpath")]
        paths += [mount.host_path for mount in start.spec.mounts]
        return str(private), kept_directories([*paths, *agent_directories(self._root)])

    def _host_facts(self, user: TaskUser | None, work_dir: str) -> HostEnvironment:
        """The machine as a task sees it; an account without a home has the work directory."""
        if self._host is None:
            links = self._root / "pythonpath"
            link_harness(links)
            self._host = HostEnvironment(
                python=interpreter(self._root / "bin"),
                path=os.environ.get("PATH", os.defpath),
                home=os.environ.get("HOME", "/"),
                pythonpath=str(links),
            )
        if user is None:
            return self._host
        home = _home_of(user.uid)
        return HostEnvironment(
            python=self._host.python,
            path=self._host.path,
            home=home if os.path.isdir(home) else work_dir,
            pythonpath=self._host.pythonpath,
        )


def _other_user(start: ContainerStart) -> TaskUser | None:
    """The account that a task runs as; None if it is the agent's own."""
    user = start.spec.user
    return user if os.getuid() == 0 and user.uid != 0 else None


async def _kill(shim: ShimProcess) -> None:
    shim.signal(9)
    await asyncio.shield(shim.wait())
    shim.detach()


def _agent_error(text: str) -> Failure:
    return Failure("agent_error", f"the agent could not launch the container: {text}")


def _task_error(text: str) -> Failure:
    return Failure("task_error", f"the task could not be started: {text}")


def _home_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return "/"
