"""Fixtures: one PostgreSQL for a whole test run, a fresh migrated database for each test.

The first test that needs it starts the server, whichever xdist worker it runs in; the process
that started the run stops it at the end. A test asks for `database` (an `Address`),
`database_url` or `pool`.
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import asyncpg
import psutil
import pytest
from tests.prepared_data import ROOT_OF_RUN
from tests.quick_disk import PLACES, quick_directory
from tests.watchdog import Watchdog

from determined_master.store.db import Address, Database, connect, embedded_address, open_database
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout
from determined_master.store.embedded.processes import Server
from determined_master.store.embedded.start import ensure_data, find_running, launch, stop
from determined_master.store.migrate import migrate

_ENV = ROOT_OF_RUN
_PREFIX = "det-test-pg-"
_TEMPLATE = "migrated_template"
_numbers = itertools.count(1)
_started: list[Server] = []
"""Holds on to the process that this worker started: dropped while alive, it would warn."""
_watchdogs: list[Watchdog] = []
"""Of a run that is killed nothing stays."""


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        _remove_orphans()
        root = quick_directory(f"{_PREFIX}{os.getpid()}-")
        os.environ[_ENV] = str(root)
        _watchdogs.append(Watchdog(root))


@pytest.hookimpl(trylast=True)  # fixtures of an interrupted run have ended
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End before the machine is compared with what it was (`left_behind.py`)."""
    pytest_unconfigure(session.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End a run that had no session, too: one with wrong options."""
    is_worker = hasattr(config, "workerinput")
    if not is_worker and _watchdogs:
        try:
            _remove(Path(os.environ.pop(_ENV)))
        finally:
            _watchdogs.pop().dismiss()
    for child in (server.process for server in _started):
        assert isinstance(child, subprocess.Popen)
        if is_worker:
            child.returncode = 0  # others use it still: the run's own process stops it
        else:
            child.wait()


@pytest.fixture(scope="session")
def postgres() -> Address:
    """The run's server, without fsync; its own database is not for tests."""
    return asyncio.run(_shared_server(Path(os.environ[_ENV])))


@asynccontextmanager
async def new_database(postgres: Address, template: str = _TEMPLATE) -> AsyncIterator[Address]:
    """A copy of a template, with the schema of this release; for fixtures of a wider scope."""
    name = f"t{os.getpid()}_{next(_numbers)}"
    admin = await connect(postgres)
    try:
        # Its files are copied: the usual way writes all of them to the log once more.
        await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        yield replace(postgres, database=name)
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@pytest.fixture
async def database(postgres: Address) -> AsyncIterator[Address]:
    """A fresh database with the schema of this release."""
    async with new_database(postgres) as made:
        yield made


@pytest.fixture
async def empty_database(postgres: Address) -> AsyncIterator[Address]:
    """A fresh database with nothing in it."""
    name = f"e{os.getpid()}_{next(_numbers)}"
    admin = await connect(postgres)
    try:
        await admin.execute(f"CREATE DATABASE {name}")
        yield replace(postgres, database=name)
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@pytest.fixture
def database_url(database: Address) -> str:
    """The same as text, for a process of its own."""
    user, password = quote(database.user), quote(database.password, safe="")
    host = quote(database.host, safe="")
    return f"postgresql://{user}:{password}@/{database.database}?host={host}&port={database.port}"


@pytest.fixture
async def pool(database: Address) -> AsyncIterator[Database]:
    """A small pool on the test's database."""
    opened = await open_database(database, min_size=1, max_size=10)
    try:
        yield opened
    finally:
        await opened.close()


async def _shared_server(root: Path) -> Address:
    layout = Layout(root / "postgres")
    with one_at_a_time():
        if find_running(layout) is None:
            await ensure_data(layout, is_durable=False)
            _started.append(await launch(layout, is_durable=False))
            await _make_template(embedded_address(connection_options(layout)))
    return embedded_address(connection_options(layout))


async def _make_template(address: Address) -> None:
    admin = await connect(address)
    try:
        await admin.execute(f"CREATE DATABASE {_TEMPLATE}")
        conn = await asyncpg.connect(**replace(address, database=_TEMPLATE).options())
        await migrate(conn)
        # Without free space maps it has a tenth fewer files, and each test copies all of them.
        await conn.execute("VACUUM FULL")
        await conn.close()
    finally:
        await admin.close()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Lock out the other workers of a run, so that they share one template."""
    with (Path(os.environ[_ENV]) / "starting").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_orphans() -> None:
    """Stop what a killed run left behind."""
    for left in itertools.chain.from_iterable(p.glob(f"{_PREFIX}*") for p in PLACES):
        owner = left.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            _remove(left)


def _remove(root: Path) -> None:
    asyncio.run(stop(Layout(root / "postgres")))
    shutil.rmtree(root, ignore_errors=True)
