"""Back a database up into a directory, and restore it into an empty one.

The copy is logical: the rows of each table as PostgreSQL's COPY text, and a manifest. The schema
is not in it, since the migrations make it; so a backup of one major version of PostgreSQL can be
restored into another, and from the embedded server into one of the user's, or back.
"""

from __future__ import annotations

import gzip
import logging
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from determined_master import clock
from determined_master.store.connection_errors import words_of
from determined_master.store.errors import DatabaseError
from determined_master.store.migrate import migrate, newest_revision

_log = logging.getLogger(__name__)
_FORMAT = 1
_MANIFEST = "manifest.json"


class TableCopy(msgspec.Struct, frozen=True):
    """The rows of one table, in `file`, gzipped."""

    name: str
    columns: tuple[str, ...]
    rows: int
    file: str


class Partition(msgspec.Struct, frozen=True):
    """A part of a partitioned table, with the bound as SQL has it."""

    name: str
    parent: str
    bound: str


class Manifest(msgspec.Struct, frozen=True):
    """The contents of a backup; written last, so a backup without it is not complete."""

    format: int
    revision: str
    server: str
    made_at: datetime
    tables: tuple[TableCopy, ...]
    sequences: dict[str, int]
    partitions: tuple[Partition, ...]


async def back_up(conn: asyncpg.Connection[Any], directory: Path) -> Manifest:
    """Copy all rows as of one instant; the master may keep running.

    Args:
        directory: made here, or empty.

    Raises:
        DatabaseError: the directory holds something, or it or its files cannot be made, or the
            database was never migrated.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # noqa: ASYNC240 - own command
        is_empty = not any(directory.iterdir())  # noqa: ASYNC240
    except OSError as error:
        raise DatabaseError(
            f"the directory {directory} cannot be made: {error.strerror}; name another one for "
            "this backup"
        ) from error
    if not is_empty:
        raise DatabaseError(
            f"the directory {directory} is not empty; name a new one for this backup"
        )
    async with conn.transaction(isolation="repeatable_read", readonly=True):
        try:
            revision = await conn.fetchval("SELECT version_num FROM alembic_version")
        except asyncpg.UndefinedTableError as error:
            raise DatabaseError("there is nothing to back up: the database is empty") from error
        tables = [
            await _copy_out(conn, directory, name, columns)
            for name, columns in (await _list_tables(conn)).items()
        ]
        manifest = Manifest(
            format=_FORMAT,
            revision=revision,
            server=str(await conn.fetchval("SHOW server_version")),
            made_at=clock.now(),
            tables=tuple(tables),
            sequences=dict(await conn.fetch(_SEQUENCES)),
            partitions=tuple(Partition(*row) for row in await conn.fetch(_PARTITIONS)),
        )
    (directory / _MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    return manifest


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a backup.

    Raises:
        DatabaseError: it is incomplete, damaged or of a later release.
    """
    try:
        manifest = msgspec.json.decode((directory / _MANIFEST).read_bytes(), type=Manifest)
    except FileNotFoundError as error:
        raise DatabaseError(
            f"{directory} has no {_MANIFEST}: it is not a backup, or one that did not finish; "
            "name the directory of a whole one"
        ) from error
    except msgspec.MsgspecError as error:
        raise DatabaseError(f"{directory / _MANIFEST} cannot be read: {error}") from error
    if manifest.format > _FORMAT or manifest.revision > newest_revision():
        raise DatabaseError(
            f"the backup in {directory} was made by a later release (schema {manifest.revision}, "
            f"this one knows {newest_revision()}); restore it with that release"
        )
    return manifest


async def restore(conn: asyncpg.Connection[Any], directory: Path) -> Manifest:
    """Fill an empty database from a backup, and migrate it to this release.

    A failed restore leaves tables without rows; the next restore may use them.

    The next lead's epoch is above all before, also above those that followed the backup: agents
    have obeyed them, refuse a lower one, and take equal orders of an equal one for obeyed.

    Raises:
        DatabaseError: the database is not empty, or the backup is incomplete or of a later
            release.
    """
    manifest = read_manifest(directory)
    if not await _is_unused(conn, manifest.revision):
        raise DatabaseError(
            "the database is not empty; restore into a new one (set db.name, or move the "
            "embedded server's data directory away)"
        )
    await migrate(conn, upto=manifest.revision)
    async with conn.transaction():
        names = [table.name for table in manifest.tables]
        await conn.execute(f"TRUNCATE {', '.join(map(_quote, names))}")
        partitions = {row["name"] for row in await conn.fetch(_PARTITIONS)}
        for part in manifest.partitions:
            if part.name not in partitions:
                await conn.execute(
                    f"CREATE TABLE {_quote(part.name)} PARTITION OF {_quote(part.parent)} "
                    f"{part.bound}"
                )
        # Rows written by triggers are in the backup, too.
        await _set_triggers(conn, names, "DISABLE")
        for table in await _parents_first(conn, manifest.tables):
            await _copy_in(conn, directory, table)
        await _set_triggers(conn, names, "ENABLE")
        for name, value in manifest.sequences.items():
            await conn.execute("SELECT setval($1::text::regclass, $2)", _quote(name), value)
        await conn.execute(_NEW_EPOCH, int(clock.now().timestamp()))
    await migrate(conn)
    await conn.execute("ANALYZE")
    return manifest


_TABLES = """
    SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
      FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
       AND NOT c.relispartition AND c.relname <> 'alembic_version'
       AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     GROUP BY c.relname
     ORDER BY c.relname
"""
_SEQUENCES = """
    SELECT sequencename::text, last_value
      FROM pg_sequences
     WHERE schemaname = 'public' AND last_value IS NOT NULL
     ORDER BY 1
"""
_PARTITIONS = """
    SELECT c.relname::text AS name, p.relname::text AS parent,
           pg_get_expr(c.relpartbound, c.oid) AS bound
      FROM pg_class c
      JOIN pg_inherits i ON i.inhrelid = c.oid
      JOIN pg_class p ON p.oid = i.inhparent
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
     ORDER BY 1
"""
_NEW_EPOCH = "UPDATE leader SET epoch = greatest(epoch, $1)"
"""By the seconds since 1970: there are never as many leads."""
_REFERENCES = """
    SELECT child.relname::text AS child, parent.relname::text AS parent
      FROM pg_constraint k
      JOIN pg_class child ON child.oid = k.conrelid
      JOIN pg_class parent ON parent.oid = k.confrelid
     WHERE k.contype = 'f' AND child.oid <> parent.oid
"""


async def _is_unused(conn: asyncpg.Connection[Any], revision: str) -> bool:
    """Whether no data would be lost: no tables, or those of a failed restore.

    The first start of a master creates users, so tables without one contain no data.
    """
    tables = await _list_tables(conn)
    if not tables:
        return True
    if not {"users", "leader"} <= tables.keys():
        return False
    if await conn.fetchval("SELECT EXISTS (SELECT FROM users)"):
        return False
    return bool(await conn.fetchval("SELECT max(version_num) FROM alembic_version") <= revision)


async def _list_tables(conn: asyncpg.Connection[Any]) -> dict[str, list[str]]:
    return {row["name"]: row["columns"] for row in await conn.fetch(_TABLES)}


async def _copy_out(
    conn: asyncpg.Connection[Any], directory: Path, name: str, columns: Sequence[str]
) -> TableCopy:
    file = f"{name}.copy.gz"
    listed = ", ".join(map(_quote, columns))
    try:
        with gzip.open(directory / file, "wb", compresslevel=1) as out:
            sink = _Sink(out)
            query = f"SELECT {listed} FROM {_quote(name)}"
            done = await conn.copy_from_query(query, output=sink)
            if sink.error is not None:
                raise sink.error
    except OSError as error:
        raise DatabaseError(
            f"the backup's file {directory / file} cannot be written: {error.strerror}; remove "
            "this backup, which is not complete, and name a directory with more room"
        ) from error
    return TableCopy(name, tuple(columns), int(done.split()[-1]), file)


class _Sink:
    """Writes rows into a file, and after the first error into nothing.

    If a sink raises, asyncpg waits forever for the end of the copy that it has cancelled.
    """

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, data: bytes) -> None:
        if self.error is None:
            try:
                self._file.write(data)
            except OSError as error:
                self.error = error


async def _copy_in(conn: asyncpg.Connection[Any], directory: Path, table: TableCopy) -> None:
    try:
        with gzip.open(directory / table.file, "rb") as rows:
            done = await conn.copy_to_table(table.name, source=rows, columns=table.columns)
    except FileNotFoundError as error:
        raise _damaged(table, "it is not there") from error
    except (EOFError, gzip.BadGzipFile, zlib.error, asyncpg.DataError) as error:
        raise _damaged(table, words_of(error)) from error
    if int(done.split()[-1]) != table.rows:
        held = f"it holds {done.split()[-1]} rows, and the manifest says {table.rows}"
        raise _damaged(table, held)


def _damaged(table: TableCopy, reason: str) -> DatabaseError:
    return DatabaseError(
        f"the backup's file {table.file} is damaged: {reason}; use another backup"
    )


async def _set_triggers(conn: asyncpg.Connection[Any], names: Sequence[str], action: str) -> None:
    for name in names:
        await conn.execute(f"ALTER TABLE {_quote(name)} {action} TRIGGER USER")


async def _parents_first(
    conn: asyncpg.Connection[Any], tables: Sequence[TableCopy]
) -> list[TableCopy]:
    """An order in which no row comes before the row that it refers to."""
    by_name = {table.name: table for table in tables}
    parents: dict[str, set[str]] = {name: set() for name in by_name}
    for row in await conn.fetch(_REFERENCES):
        if row["child"] in parents and row["parent"] in by_name:
            parents[row["child"]].add(row["parent"])
    return [by_name[name] for name in _sort(parents)]


def _sort(parents: Mapping[str, set[str]]) -> list[str]:
    done: list[str] = []
    unsorted = dict(parents)
    while unsorted:
        ready = [name for name, needed in unsorted.items() if needed <= set(done)]
        if not ready:
            raise DatabaseError(
                f"the tables {', '.join(unsorted)} refer to each other in a circle"
            )
        done += ready
        for name in ready:
            del unsorted[name]
    return done


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
