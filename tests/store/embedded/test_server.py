import asyncio
import contextlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest
from tests.prepared_data import copy_prepared_data
from tests.quick_disk import quick_directory

from determined_master.store.embedded import files as embedded_files
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Account, Layout, default_layout
from determined_master.store.embedded.processes import all_processes, lives, serves
from determined_master.store.embedded.server import EmbeddedServer
from determined_master.store.embedded.start import find_running, launch, stop
from determined_master.store.errors import (
    DataDirInUse,
    DataDirUnreachable,
    OtherServerVersion,
    ServerFailed,
    SocketPathTooLong,
    SpoiltFile,
)

pytestmark = pytest.mark.slow

RANDOM_LETTERS = 43
"""Of 256 bits in base64."""


@pytest.fixture
def layout() -> Iterator[Layout]:
    """A data directory on a short path that the server's account can reach."""
    directory = quick_directory("det-")
    made = Layout(directory / "postgres")
    try:
        yield made
        asyncio.run(stop(made))
    finally:
        shutil.rmtree(directory)


@pytest.fixture
def used(layout: Layout) -> Layout:
    """The same after a first start, which takes longer than all later ones."""
    copy_prepared_data(layout.root)
    return layout


def processes_of(layout: Layout) -> list[psutil.Process]:
    """The server and its children."""
    return [process for process in all_processes() if serves(process, layout.data)]


async def ask(layout: Layout, query: str, *values: str):
    conn = await asyncpg.connect(**connection_options(layout), ssl=False)
    try:
        return await conn.fetchval(query, *values)
    finally:
        await conn.close()


async def test_the_server_is_durable_and_listens_on_its_socket_alone(layout: Layout) -> None:
    server = EmbeddedServer(layout)
    await server.start()
    try:
        assert await ask(layout, "SELECT current_setting('fsync')") == "on"
        assert await ask(layout, "SELECT current_setting('synchronous_commit')") == "on"
        assert await ask(layout, "SELECT current_setting('listen_addresses')") == ""
        assert await ask(layout, "SELECT current_setting('scram_iterations')") == "4096"
        assert psutil.Process(server.pid).net_connections(kind="inet") == []
    finally:
        await server.stop()
    assert find_running(layout) is None


async def test_only_the_owner_can_reach_the_data_and_only_with_the_password(
    layout: Layout,
) -> None:
    server = EmbeddedServer(layout)
    await server.start()
    try:
        for path, mode in (
            (layout.data, 0o700),
            (layout.socket_dir, 0o700),
            (layout.password, 0o600),
            (layout.log, 0o600),
        ):
            assert stat.S_IMODE(path.stat().st_mode) == mode
        wrong = {**server.connection_options, "password": "guess"}
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(**wrong, ssl=False)
        stored = "SELECT rolpassword FROM pg_authid WHERE rolname = $1"
        assert (await ask(layout, stored, server.connection_options["user"])).startswith(
            "SCRAM-SHA-256$1:"
        )
        assert len(layout.password.read_text().strip()) >= RANDOM_LETTERS
    finally:
        await server.stop()


async def test_no_permission_of_a_directory_that_was_there_is_changed(layout: Layout) -> None:
    parent = layout.root.parent
    before = {path: path.stat().st_mode for path in (parent, *parent.parents)}
    server = EmbeddedServer(layout)
    await server.start()
    await server.stop()
    assert {path: path.stat().st_mode for path in before} == before


async def test_a_second_start_finds_the_stored_data_and_creates_nothing(
    layout: Layout,
) -> None:
    server = EmbeddedServer(layout)
    await server.start()
    await ask(layout, "CREATE TABLE kept AS SELECT 7 AS n")
    await server.stop()

    made = (layout.data / "PG_VERSION").stat()
    await server.start()
    try:
        assert await ask(layout, "SELECT n FROM kept") == 7
    finally:
        await server.stop()
    again = (layout.data / "PG_VERSION").stat()
    assert (again.st_ino, again.st_mtime_ns) == (made.st_ino, made.st_mtime_ns)


async def test_a_second_master_reports_the_owner_of_the_data_directory(used: Layout) -> None:
    server = EmbeddedServer(used)
    await server.start()
    try:
        with pytest.raises(DataDirInUse, match=f"in use by process {os.getpid()}.*db.data_dir"):
            await EmbeddedServer(used).start()
        assert await ask(used, "SELECT 1") == 1
    finally:
        await server.stop()


async def exit_code_of(server: EmbeddedServer) -> int:
    """Wait for the end of the process that this one has started, and reap it.

    Its parent is told a moment after the files by which others know a running server are gone.
    """
    assert server._server is not None
    assert isinstance(server._server.process, subprocess.Popen)
    return await asyncio.to_thread(server._server.process.wait, 30)


async def test_a_server_that_a_dead_master_left_is_taken_over(used: Layout) -> None:
    first = EmbeddedServer(used)
    await first.start()
    pid = first.pid
    first._release()  # what the kernel does when a master is killed

    second = EmbeddedServer(used)
    await second.start()
    try:
        assert second.pid == pid
    finally:
        await second.stop()
    assert await exit_code_of(first) == 0


async def test_a_server_that_does_not_answer_is_replaced(
    used: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = EmbeddedServer(used)
    await first.start()
    assert first.pid is not None
    pid = first.pid
    first._release()
    os.kill(pid, signal.SIGSTOP)
    second = EmbeddedServer(used)
    with monkeypatch.context() as impatient:
        impatient.setattr("determined_master.store.embedded.server.ADOPT_DEADLINE_S", 0.2)
        impatient.setattr("determined_master.store.embedded.start.STOP_DEADLINE_S", 0.3)
        # For the new server's first answer, too.
        impatient.setattr("determined_master.store.embedded.answers.QUERY_DEADLINE_S", 1.0)
        await second.start()
    try:
        assert second.pid != pid
        assert await ask(used, "SELECT 1") == 1
    finally:
        await second.stop()
    await exit_code_of(first)


async def test_processes_of_a_killed_server_are_ended(used: Layout) -> None:
    """PostgreSQL would refuse to start while it lives; here the killed one is a zombie, too."""
    first = EmbeddedServer(used)
    await first.start()
    left = []
    for child in psutil.Process(first.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # some of them soon end
            child.suspend()
            left.append(child)
    assert left
    first._release()
    os.kill(first.pid, signal.SIGKILL)
    second = EmbeddedServer(used)
    try:
        await second.start()
        assert await ask(used, "SELECT 1") == 1
        assert not any(lives(child) for child in left)
    finally:
        for child in filter(lives, left):
            child.kill()
        await second.stop()
        await exit_code_of(first)


async def test_a_start_that_is_called_off_leaves_no_server(used: Layout) -> None:
    """Nobody would stop it: the master that ends does not know it yet."""
    server = EmbeddedServer(used)
    starting = asyncio.ensure_future(server.start())
    while not (begun := processes_of(used)):
        await asyncio.sleep(0)
        assert not starting.done(), "it was up before anybody looked"
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not any(lives(process) for process in begun)
    assert not processes_of(used)


async def test_the_server_of_a_dead_master_can_be_stopped(used: Layout) -> None:
    server = EmbeddedServer(used)
    await server.start()
    server._release()

    assert await stop(used)
    assert find_running(used) is None
    assert not await stop(used)
    assert await exit_code_of(server) == 0


async def test_another_process_under_a_noted_pid_is_left_alone(used: Layout) -> None:
    (used.data / "postmaster.pid").write_text(f"{os.getpid()}\n{used.data}\n")

    assert find_running(used) is None
    assert not await stop(used)


async def test_a_killed_server_is_started_again(used: Layout) -> None:
    server = EmbeddedServer(used)
    await server.start()
    supervisor = asyncio.ensure_future(server.supervise())
    try:
        await ask(used, "CREATE TABLE kept AS SELECT 7 AS n")
        killed = server.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        async with asyncio.timeout(60):
            while server.pid == killed:  # noqa: ASYNC110 - until the supervisor acts
                await asyncio.sleep(0.01)
        assert await ask(used, "SELECT n FROM kept") == 7
    finally:
        supervisor.cancel()
        await asyncio.gather(supervisor, return_exceptions=True)
        await server.stop()


async def test_data_of_another_major_version_names_both_and_the_remedy(used: Layout) -> None:
    server = EmbeddedServer(used)
    (used.data / "PG_VERSION").write_text("15\n")

    with pytest.raises(OtherServerVersion, match=r"PostgreSQL 15, .* PostgreSQL 18; .*restore"):
        await server.start()


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b"", "holds nothing instead"), (b"\xff\xfe\0", r"holds '\\\\xff\\\\xfe\\x00' instead"),
        (b"abc\n", r"holds 'abc\\n' instead"), (b"1" * 10**6, "holds '1{40}' instead"),
        (None, r"holds nothing that can be read \(No such file or directory\) instead"),
    ],
    ids=["empty", "bytes", "letters", "long", "missing"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["data/PG_VERSION", "password"])
def test_a_spoilt_file_is_named_with_its_content_and_the_remedy(
    tmp_path: Path, name: str, content: bytes | None, shown: str
) -> None:
    layout = Layout(tmp_path)
    (layout.data / "base").mkdir(parents=True)
    (layout.data / "PG_VERSION").write_bytes(b"18\n")
    layout.password.write_bytes(b"secret\n")
    assert embedded_files.written_version(layout) == "18"
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content if name != "password" else content[:1] + b"\0")
    with pytest.raises(SpoiltFile) as caught:
        embedded_files.written_version(layout)
    assert str(tmp_path / name) in str(caught.value)
    assert "`determined-master restore DIR`" in str(caught.value)
    if name != "password":
        assert re.search(shown, str(caught.value))


async def test_a_master_with_a_spoilt_version_does_not_start_and_leaves_the_files(
    used: Layout,
) -> None:
    (used.data / "PG_VERSION").write_bytes(b"\xff\0")
    before = sorted(used.data.iterdir())
    for _ in range(2):
        with pytest.raises(SpoiltFile, match="PG_VERSION"):
            await EmbeddedServer(used).start()
        (used.data / "PG_VERSION").unlink(missing_ok=True)
        before = [path for path in before if path.name != "PG_VERSION"]
    assert sorted(used.data.iterdir()) == before


async def test_a_first_start_that_was_killed_half_way_is_begun_again(layout: Layout) -> None:
    half_made = layout.root / "data.new"
    half_made.mkdir(parents=True)
    layout.root.chmod(0o711)
    (half_made / "PG_VERSION").write_text("18\n")

    server = EmbeddedServer(layout)
    await server.start()
    await server.stop()
    assert not half_made.exists()


def orphaned_initdb(layout: Layout) -> psutil.Process:
    """The `initdb` of a first start that was killed; it stands still."""
    starts = (
        "import asyncio, pathlib, sys\n"
        "from determined_master.store.embedded.files import Layout\n"
        "from determined_master.store.embedded.start import ensure_data\n"
        "asyncio.run(ensure_data(Layout(pathlib.Path(sys.argv[1]))))\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", starts, str(layout.root)])
    own = psutil.Process(starter.pid)
    while not (made := [child for child in own.children() if child.name() == "initdb"]):
        assert starter.poll() is None, "it ended before anybody looked"
        time.sleep(0.001)
    made[0].suspend()
    starter.kill()
    starter.wait()
    return made[0]


async def test_processes_of_a_killed_first_start_are_ended(layout: Layout) -> None:
    """It would clear away what the next start makes."""
    orphan = orphaned_initdb(layout)
    server = EmbeddedServer(layout)
    await server.start()
    try:
        assert await ask(layout, "SELECT 1") == 1
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
    finally:
        await server.stop()
        with contextlib.suppress(psutil.Error):
            orphan.kill()


async def test_a_server_that_cannot_start_says_why(used: Layout) -> None:
    (used.data / "postgresql.conf").write_text("shared_buffers = 'nonsense'\n")

    with pytest.raises(ServerFailed, match="nonsense"):
        await launch(used)


async def test_a_socket_path_over_the_limit_is_refused_with_the_limit(layout: Layout) -> None:
    deep = Layout(layout.root.parent / ("x" * 90) / "postgres")
    with pytest.raises(SocketPathTooLong, match=r"107.*db.data_dir"):
        await EmbeddedServer(deep).start()


def test_a_directory_that_the_servers_account_cannot_pass_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    stranger = Account("stranger", uid=54321, gid=54321)
    with pytest.raises(DataDirUnreachable, match=r"'stranger'.*may not pass"):
        embedded_files._check_reachable(closed, stranger)


def test_an_unprivileged_user_keeps_the_data_in_the_users_data_home(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", "/home/u/data")
    assert default_layout("c").root == Path("/home/u/data/determined/c/postgres")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_layout("c").root == Path("/var/lib/determined/c/postgres")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run it as another user")
async def test_root_runs_the_server_as_the_system_user(used: Layout) -> None:
    server = EmbeddedServer(used)
    await server.start()
    try:
        process = psutil.Process(server.pid)
        assert process.username() == "determined"
        assert Path(process.exe()).is_relative_to("/var/lib/determined")
    finally:
        await server.stop()
