"""Errors of the database, each with its remedy."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import asyncpg

from determined_master.domain.errors import FailedPrecondition, Unavailable


class DatabaseError(FailedPrecondition):
    """The database cannot be used with its configuration."""


class DataDirInUse(DatabaseError):
    """Another master owns the data directory."""

    def __init__(self, data_dir: Path, owner: str) -> None:
        super().__init__(
            f"the data directory {data_dir} is in use by {owner}; stop that master, or give this "
            "one a directory of its own with db.data_dir"
        )


class OtherServerVersion(DatabaseError):
    """The data directory was written by another major version of PostgreSQL."""

    def __init__(self, data_dir: Path, version: str, ours: str) -> None:
        super().__init__(
            f"the data directory {data_dir} was written by PostgreSQL {version}, and this master "
            f"brings PostgreSQL {ours}; with the master that wrote it run `determined-master "
            "backup DIR`, then move the directory away and run `determined-master restore DIR` "
            "with this one"
        )


class SpoiltFile(DatabaseError):
    """A file of the data directory does not hold what was written into it."""

    def __init__(self, file: Path, content: str, right: str) -> None:
        super().__init__(
            f"the file {file} of the database holds {content} instead of {right}: restore the "
            "whole directory from a copy that was made while the master was stopped, or move it "
            "away and run `determined-master restore DIR` with the directory of a backup"
        )


class SocketPathTooLong(DatabaseError):
    """The operating system cannot bind a socket at a path of that length."""

    def __init__(self, path: Path, limit_bytes: int) -> None:
        super().__init__(
            f"the database's socket path {path} takes {len(str(path).encode())} bytes, and the "
            f"limit is {limit_bytes}; set db.data_dir to a shorter path"
        )


class DataDirUnreachable(DatabaseError):
    """The account that PostgreSQL runs under cannot get to the data directory."""

    def __init__(self, data_dir: Path, blocked: Path, account: str) -> None:
        super().__init__(
            f"the user {account!r}, under which PostgreSQL runs, may not pass {blocked} on the "
            f"way to {data_dir}; set db.data_dir to a path that it can reach, for example under "
            "/var/lib/determined"
        )


class DataDirNotMade(DatabaseError):
    """The data directory is not there and cannot be made."""

    def __init__(self, data_dir: Path, failed: Path, error: OSError) -> None:
        at = "" if failed == data_dir else f" at {failed}"
        reason = "is a file" if failed.is_file() else (error.strerror or str(error))
        super().__init__(
            f"the data directory {data_dir} cannot be made: {reason}{at}; set db.data_dir to a "
            "path that the master may write"
        )


class NoDataDir(DatabaseError):
    """There is no database to read from where there should be one."""

    def __init__(self, data_dir: Path, command: str) -> None:
        super().__init__(
            f"there is no database in {data_dir} for `{command}` to read; name the master's own "
            "with --db-data-dir, or its configuration with --config-file"
        )


class Unreachable(DatabaseError):
    """The user's PostgreSQL does not let the master in."""

    def __init__(self, where: str, user: str, error: BaseException) -> None:
        super().__init__(
            f"the database at {where} cannot be used by {user!r}: {_reason(error)}; see that "
            "PostgreSQL runs there, and that db.host, db.port, db.user, db.password, db.name and "
            "db.ssl_mode are right"
        )
        is_absent = isinstance(error, OSError) and not isinstance(error, ssl.SSLError)
        self.may_start = is_absent or isinstance(error, asyncpg.CannotConnectNowError)
        """Whether a server may answer there soon: this one is not there, or starts."""


class DiskFull(DatabaseError):
    """There is no room for the database."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(
            f"no space is left for the database in {data_dir}; free some space on that file "
            "system, or move the directory and set db.data_dir"
        )


class ServerFailed(DatabaseError):
    """PostgreSQL did not start; its last words are in the text."""

    def __init__(self, what: str, words: str) -> None:
        super().__init__(f"{what} failed: {words.strip() or 'it said nothing'}")


class DatabaseUnavailable(Unavailable):
    """The database does not answer at present."""


class PooledConnection(DatabaseError):
    """A connection pooler in transaction mode stands between the master and PostgreSQL."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"the database at {where} is reached through a pooler in transaction mode ({reason}); "
            "the master holds locks and prepared statements for the life of a connection: set "
            "db.host and db.port to PostgreSQL itself, or the pooler to session mode"
        )


def _reason(error: BaseException) -> str:
    """The problem in one line; event loops have their own words for the system's errors."""
    if isinstance(error, OSError) and (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)
    reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    return reason or type(error).__name__
