"""Make, start, find and stop one embedded PostgreSQL server."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shutil
import signal
import subprocess

import psutil

from determined_master import clock
from determined_master.store.embedded.answers import answers
from determined_master.store.embedded.files import (
    PORT,
    USER,
    Account,
    Layout,
    account,
    binaries,
    ensure_password,
    give,
    make_directories,
    written_version,
)
from determined_master.store.embedded.processes import Server, end_all, makes, serves
from determined_master.store.errors import DiskFull, OtherServerVersion, ServerFailed

START_DEADLINE_S = 60.0
ADOPT_DEADLINE_S = 10.0
STOP_DEADLINE_S = 30.0
KILL_DEADLINE_S = 10.0
_POLL_S = 0.01
_LOG_LIMIT_BYTES = 10 << 20
_LEAST_ROOM_BYTES = 64 << 10
NO_SPACE = os.strerror(errno.ENOSPC)
_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "scram_iterations": "4096",  # for passwords that an admin adds
    "timezone": "UTC",
    "log_timezone": "UTC",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "jit": "off",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] ",
}
_UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


async def ensure_data(layout: Layout, *, is_durable: bool = True) -> None:
    """Make the data directory at the first start; check its version at later ones.

    A directory that a killed first start left half made is thrown away: it never held data.

    Raises:
        OtherServerVersion, SpoiltFile, DiskFull, ServerFailed, SocketPathTooLong,
        DataDirUnreachable.
    """
    owner = account()
    make_directories(layout, owner)
    if version := written_version(layout):
        ours = _major(owner)
        if version != ours:
            raise OtherServerVersion(layout.root, version, ours)
        return
    await asyncio.to_thread(_initialise, layout, owner, is_durable)


async def launch(layout: Layout, *, is_durable: bool = True) -> Server:
    """Start the server and return once it answers a query.

    Raises:
        DiskFull, ServerFailed: it ended instead, or did not answer within START_DEADLINE_S.
    """
    owner = account()
    settings = _SETTINGS | {"unix_socket_directories": str(layout.socket_dir)}
    if not is_durable:
        settings |= _UNSAFE
    command = [str(binaries(owner) / "postgres"), "-D", str(layout.data)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    await asyncio.to_thread(_clear_remains, layout)
    if layout.log.exists() and layout.log.stat().st_size > _LOG_LIMIT_BYTES:
        layout.log.replace(layout.log.with_suffix(".log.1"))
    layout.log.touch(mode=0o600)  # it contains failed statements with their values
    with layout.log.open("ab") as log:
        position_before = log.tell()
        server = Server(_spawn(command, owner, log.fileno()))
    try:
        if await answers(layout, START_DEADLINE_S, server):
            return server
    except BaseException:  # the master's database could not be created, or the master is stopping
        await stop(layout, server)
        raise
    await stop(layout, server)
    with layout.log.open("rb") as log:
        log.seek(position_before)
        words = log.read().decode(errors="replace")[-2000:]
    if NO_SPACE in words or (not words and _is_full(layout)):
        raise DiskFull(layout.root)
    raise ServerFailed(f"starting PostgreSQL in {layout.root}", words)


def find_running(layout: Layout) -> Server | None:
    """The server that runs on this data directory, whoever started it."""
    try:
        pid = int((layout.data / "postmaster.pid").read_text().split("\n", 1)[0])
        process = psutil.Process(pid)
    except (OSError, ValueError, psutil.Error):
        return None
    return Server(process) if serves(process, layout.data) else None


async def stop(layout: Layout, server: Server | None = None) -> bool:
    """Stop the server of this data directory, also when its master is dead.

    First politely (open transactions are rolled back), then at once, then by force.

    Returns:
        Whether there was one to stop.
    """
    running = server if server is not None else find_running(layout)
    if running is None or not running.is_alive():
        return False
    for word, patience_s in (
        (signal.SIGINT, STOP_DEADLINE_S),
        (signal.SIGQUIT, STOP_DEADLINE_S / 3),
        (signal.SIGKILL, KILL_DEADLINE_S),
    ):
        try:
            os.kill(running.pid, word)
        except ProcessLookupError:
            return True
        until = clock.monotonic_s() + patience_s
        while clock.monotonic_s() < until:
            if not running.is_alive():
                return True
            await asyncio.sleep(_POLL_S)
    raise ServerFailed(f"stopping PostgreSQL (process {running.pid})", "it survived SIGKILL")


def _clear_remains(layout: Layout) -> None:
    """End the processes of a dead server, and remove its pid and socket files.

    PostgreSQL refuses to start while a process of the dead server lives, and while the recorded
    process id is in use, even by a zombie or by another program. Without their server the
    processes can finish nothing: uncommitted work is rolled back in any case.
    """
    pid_file = layout.data / "postmaster.pid"
    if not pid_file.exists() or find_running(layout) is not None:
        return
    if end_all(lambda process: serves(process, layout.data), STOP_DEADLINE_S):
        pid_file.unlink(missing_ok=True)
        for entry in layout.socket_dir.iterdir():
            entry.unlink(missing_ok=True)


def _initialise(layout: Layout, owner: Account | None, is_durable: bool) -> None:
    ensure_password(layout, owner)
    unfinished = layout.root / "data.new"
    # Processes of a killed first start would delete what is created next. This process holds the
    # lock of the data directory: it has no owner.
    end_all(lambda process: makes(process, unfinished), STOP_DEADLINE_S)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    give(unfinished, owner)
    command = [
        *(str(binaries(owner) / "initdb"), "-D", str(unfinished), "-U", USER),
        *("--pwfile", str(layout.password), "--auth=scram-sha-256", "--encoding=UTF8"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
        # Rounds of the hash protect words that people choose. This password is random, and its
        # 4096 rounds took as much time as the rest of a new connection.
        *("--set", "scram_iterations=1"),
        *([] if is_durable else ["--no-sync"]),
    ]
    child = _spawn(command, owner, subprocess.PIPE)
    words = child.communicate()[0].decode(errors="replace")
    if child.returncode == 0:
        unfinished.rename(layout.data)
        return
    shutil.rmtree(unfinished, ignore_errors=True)
    if NO_SPACE in words:
        raise DiskFull(layout.root)
    raise ServerFailed(f"making a database in {layout.root}", words[-2000:])


def _is_full(layout: Layout) -> bool:
    """Whether a server could not even write down why it ended."""
    return shutil.disk_usage(layout.root).free < _LEAST_ROOM_BYTES


def _spawn(command: list[str], owner: Account | None, output: int) -> subprocess.Popen[bytes]:
    """Run a program of PostgreSQL in a session of its own: Ctrl-C is for the master."""
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=env,
        cwd="/",
        start_new_session=True,
        user=None if owner is None else owner.uid,
        group=None if owner is None else owner.gid,
        extra_groups=None if owner is None else [],
    )


def _major(owner: Account | None) -> str:
    command = [str(binaries(owner) / "postgres"), "--version"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    match = re.search(r"(\d+)\.", output)
    if match is None:
        raise ServerFailed("asking PostgreSQL for its version", output)
    return match.group(1)
