"""The master's own database: what goes wrong around it, and what its commands make."""

from __future__ import annotations

import asyncio
import logging
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.master_settings import read
from tests.quick_disk import quick_directory

from determined_master.composition import database as module
from determined_master.composition.database import database, layout_of
from determined_master.domain.errors import InvalidArgument
from determined_master.store.embedded.start import stop
from determined_master.store.errors import DataDirNotMade, NoDataDir, Unreachable


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """On a short path that the server's account can reach; nothing is there yet."""
    directory = quick_directory("det-")
    try:
        yield directory / "pg"
    finally:
        shutil.rmtree(directory)


def is_there(path: Path) -> bool:
    return path.exists()


@pytest.mark.slow
async def test_errors_while_the_database_is_used_are_raised_unchanged(
    tmp_path: Path, data_dir: Path
) -> None:
    settings = read(tmp_path, "", "--db-data-dir", str(data_dir))
    try:
        with pytest.raises(InvalidArgument, match="of its own"):
            async with database(settings):
                raise InvalidArgument("an error of its own")
    finally:
        await stop(layout_of(settings))


@pytest.mark.parametrize("command", [["backup", "/to"], ["simulate"]])
async def test_where_no_database_is_none_is_made_to_be_read(
    tmp_path: Path, data_dir: Path, command: list[str]
) -> None:
    settings = read(tmp_path, "", *command, "--db-data-dir", str(data_dir))
    with pytest.raises(NoDataDir, match=rf"no database in {data_dir} .*--config-file"):
        async with database(settings):
            pass
    assert not is_there(data_dir)


@pytest.mark.slow
def test_no_database_is_made_to_restore_what_is_no_backup(tmp_path: Path, data_dir: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "determined_master.main",
        "restore",
        str(tmp_path / "nothing"),
    ]
    done = subprocess.run(
        [*command, "--db-data-dir", str(data_dir)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert f"{tmp_path / 'nothing'} has no manifest.json: it is not a backup" in done.stderr
    assert not is_there(data_dir)


async def test_a_data_directory_below_a_file_is_refused_with_the_remedy(
    tmp_path: Path, data_dir: Path
) -> None:
    short = data_dir.parent
    (short / "file").touch()
    settings = read(tmp_path, "", "--db-data-dir", str(short / "file" / "pg"))
    said = rf"{short}/file/pg cannot be made: is a file at {short}/file; set db\.data_dir"
    with pytest.raises(DataDirNotMade, match=said):
        async with database(settings):
            pass


@pytest.mark.slow
async def test_a_master_waits_for_a_database_that_starts_after_it(
    tmp_path: Path,
    database_url: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = urlsplit(database_url)
    query = parse_qs(there.query)
    socket = Path(query["host"][0], f".s.PGSQL.{query['port'][0]}")
    place = tmp_path / ".s.PGSQL.5432"
    settings = read(
        tmp_path,
        f"db: {{host: {tmp_path}, user: {there.username}, password: {there.password}, "
        f"name: {there.path[1:]}}}",
    )

    class Starter(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            place.symlink_to(socket)

    monkeypatch.setattr(logging.getLogger(module.__name__), "handlers", [Starter()])
    async with asyncio.timeout(30), database(settings) as address:
        assert address.host == str(tmp_path)
    assert caplog.text.count("No such file or directory; see that PostgreSQL runs there") == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("name: nowhere", 'database "nowhere" does not exist'),
        ("password: wrong", "password authentication failed"),
    ],
)
async def test_a_database_that_refuses_the_master_is_not_waited_for(
    tmp_path: Path, database_url: str, caplog: pytest.LogCaptureFixture, line: str, said: str
) -> None:
    there = urlsplit(database_url)
    query = parse_qs(there.query)
    lines = {
        "host": query["host"][0],
        "port": query["port"][0],
        "user": there.username,
        "password": there.password,
        "name": there.path[1:],
    }
    key, value = line.split(": ")
    text = "".join(f"  {k}: {v}\n" for k, v in {**lines, key: value}.items())
    with pytest.raises(Unreachable, match=said):
        async with database(read(tmp_path, f"db:\n{text}")):
            pass
    assert "tried again" not in caplog.text


def test_a_relative_data_directory_is_one_below_where_the_master_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = read(tmp_path, "db: {data_dir: data}")
    assert layout_of(settings).root == tmp_path / "data"
