"""The agent's process: assembles its parts and runs until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import pwd
import signal
import socket as net
import sys
from collections.abc import MutableMapping
from pathlib import Path

from determined_agent import entropy
from determined_agent.debug_server import ListenError, debug_server
from determined_agent.devices.detect import detect_devices
from determined_agent.devices.rocm import RocmSmiError
from determined_agent.link.agent_key import AgentKeyError, load_key
from determined_agent.link.connection import JoinRefused, MasterLink, MasterUnreachable
from determined_agent.link.hello import AgentIdentity
from determined_agent.link.tls import TlsFileError, ssl_context
from determined_agent.log_format import configure_logging
from determined_agent.machine_notices import EVERY_S, MachineCloud, notice_of, watch
from determined_agent.runtimes.apptainer.runtime import ApptainerRuntime
from determined_agent.runtimes.base import Runtime, RuntimeUnavailable
from determined_agent.runtimes.docker.runtime import DockerRuntime
from determined_agent.runtimes.process.runtime import ProcessRuntime
from determined_agent.settings.options import Settings, load
from determined_agent.supervisor import Supervisor
from determined_wire.agent_link import NO_STORAGE_MARK
from determined_wire.release import VERSION
from determined_wire.settings_reader import SettingsError

log = logging.getLogger(__name__)

EXIT_CONNECTION_LOST = 1
EXIT_CANNOT_START = 2
EXIT_REFUSED = 3
HOOK_S = 60.0
_ENDING_S = 20.0
"""How long a refused agent waits for the end of containers that the master has given up."""


class StartError(Exception):
    """The agent cannot start; the text names the remedy."""


async def run(settings: Settings) -> int:
    """Serve as an agent until a signal detaches it. Returns the exit code.

    Containers keep running in any case; the next agent finds them again.
    """
    try:
        root, lock_fd = _lock_work_dir(settings)
    except StartError as error:
        log.error("%s", error)
        return EXIT_CANNOT_START
    try:
        return await _run(settings, root)
    except (RuntimeUnavailable, RocmSmiError, ListenError, AgentKeyError) as error:
        log.error("%s", error)
        return EXIT_CANNOT_START
    finally:
        os.close(lock_fd)


async def _run(settings: Settings, root: Path) -> int:
    devices = detect_devices(settings)
    runtime = _runtime(settings, root)
    await runtime.check()
    identity = AgentIdentity(
        boot_id=str(entropy.new_uuid()),
        version=VERSION,
        hostname=net.gethostname(),
        devices=devices,
        key=load_key(root),
    )
    link = MasterLink(settings, identity)
    supervisor = Supervisor(runtime, devices, root, link, settings.security.tls)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        await supervisor.attach_all()
        async with debug_server(settings, lambda: _health(settings, identity, link)):
            return await _serve(link, supervisor, stop, settings.machine_cloud)
    except MasterUnreachable as error:
        log.error("%s", error)
        await _run_hook(settings.hooks.on_connection_lost)
        return EXIT_CONNECTION_LOST
    except JoinRefused as error:
        log.error("the master refused this agent: %s", error)
        await supervisor.end_unwanted(error.unwanted, _ENDING_S)
        await _run_hook(settings.hooks.on_connection_lost)
        return EXIT_REFUSED
    finally:
        await supervisor.detach()


async def _serve(
    link: MasterLink, supervisor: Supervisor, stop: asyncio.Event, cloud: MachineCloud
) -> int:
    linking = asyncio.create_task(link.run(supervisor))
    stopping = asyncio.create_task(stop.wait())
    helpers = [linking, stopping]
    find_notice = notice_of(cloud, os.environ)
    if find_notice is not None:
        helpers.append(asyncio.create_task(watch(find_notice, link.announce_end, EVERY_S)))
    try:
        await asyncio.wait({linking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if linking.done():
            linking.result()
        log.info("detaching; containers keep running")
        return 0
    finally:
        for helper in helpers:
            helper.cancel()
        await asyncio.gather(*helpers, return_exceptions=True)


def _lock_work_dir(settings: Settings) -> tuple[Path, int]:
    """Create and lock the directory of this agent's tasks. Raises StartError.

    Returns:
        The directory, and the lock's file descriptor.
    """
    if not settings.agent_id or "/" in settings.agent_id or settings.agent_id.startswith("."):
        raise StartError(f"agent_id '{settings.agent_id}' is not a valid directory name")
    root = Path(settings.work_dir).absolute() / settings.agent_id
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        (root / NO_STORAGE_MARK).touch(mode=0o644)
        fd = os.open(root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartError(
            f"work_dir '{settings.work_dir}' cannot be used: {error.strerror}: set `work_dir` "
            "to a directory that the agent may write"
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.pread(fd, 100, 0).decode(errors="replace").strip() or "unknown"
        os.close(fd)
        raise StartError(
            f"another agent (process {owner}) already runs as '{settings.agent_id}' from "
            f"{root}: stop it, or give this one another `agent_id`"
        ) from error
    os.truncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return root, fd


def _runtime(settings: Settings, root: Path) -> Runtime:
    if settings.container_runtime == "process":
        return ProcessRuntime(settings, root)
    if settings.container_runtime in ("docker", "podman"):
        return DockerRuntime(settings, root)
    return ApptainerRuntime(settings, root)


def _health(settings: Settings, identity: AgentIdentity, link: MasterLink) -> dict[str, object]:
    return {
        "agent_id": settings.agent_id,
        "version": identity.version,
        "resource_pool": settings.resource_pool,
        "slots": len(identity.devices),
        "is_connected": link.connection > 0,
    }


async def _run_hook(command: tuple[str, ...]) -> None:
    """Run the admin's command for a lost master, which may shut the machine down."""
    if not command:
        return
    try:
        process = await asyncio.create_subprocess_exec(*command)
        try:
            code = await asyncio.wait_for(process.wait(), HOOK_S)
        except TimeoutError:
            process.kill()
            await process.wait()
            log.error("hooks.on_connection_lost did not end within %.0f s", HOOK_S)
            return
    except OSError as error:
        log.error("hooks.on_connection_lost failed: %s", error)
        return
    if code:
        log.error("hooks.on_connection_lost failed: %s ended with %d", command[0], code)


def use_home_of_account(env: MutableMapping[str, str]) -> None:
    """Set HOME where there is none, as for a service of systemd.

    `docker login` writes below the home of the account, and credential helpers read there.
    """
    if env.get("HOME"):
        return
    with contextlib.suppress(KeyError):  # an account without an entry has no home
        env["HOME"] = pwd.getpwuid(os.getuid()).pw_dir


def main() -> None:
    """The command `determined-agent`."""
    use_home_of_account(os.environ)
    try:
        settings, warnings = load(sys.argv[1:], os.environ)
        ssl_context(settings.security.tls)
    except (SettingsError, TlsFileError) as error:
        sys.stderr.write(f"determined-agent: {error}\n")
        sys.exit(EXIT_CANNOT_START)
    configure_logging(settings.log.level, color=settings.log.color)
    for warning in warnings:
        log.warning(warning)
    log.info("configuration: %s", json.dumps(settings.masked(), sort_keys=True))
    try:
        code = asyncio.run(run(settings))
    except KeyboardInterrupt:
        code = 0  # before the signal handlers are set: no task is attached yet
    sys.exit(code)


if __name__ == "__main__":
    main()
