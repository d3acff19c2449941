"""Copying and hashing of files."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, List, Optional

from determined.common.storage._faults import named
from determined.common.storage._files import make_dirs, with_parents
from determined.common.storage._manifest import Entries, Entry
from determined.common.storage._threads import Halt, each

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Progress = Optional[Callable[[int], None]]
"""Called with the bytes transferred, from several threads."""
Check = Optional[Callable[[str, Entry], None]]
"""Called with each file's path and entry; raises if they are wrong."""

PIECE_BYTES = 1 << 20
FLUSH_BYTES = 32 << 20
"""The interval at which a large file is flushed to disk while it is copied."""


def store_files(
    source: str, target: str, paths: Iterable[str], progress: Progress = None
) -> Entries:
    """Copy paths of a local tree into a directory of the storage, durably.

    Raises:
        OSError: a local file cannot be read.
        CheckpointStorageError: the storage failed.
    """
    wanted = sorted(with_parents(paths))
    with named("making directories", target):
        make_dirs(target)
        for path in wanted:
            if path.endswith("/"):
                make_dirs(os.path.join(target, path))
    files = [path for path in wanted if not path.endswith("/")]
    with _flusher() as flush:
        entries = each(
            lambda path, halt: _store(source, target, path, flush, halting(progress, halt)), files
        )
    with named("storing directories", target):
        for path in wanted:
            if path.endswith("/"):
                sync_directory(os.path.join(target, path))
        sync_directory(target)
    return dict(zip(files, entries))


def fetch_files(
    source: str, target: str, paths: Iterable[str], check: Check, progress: Progress = None
) -> None:
    """Copy paths from a directory of the storage; a file that `check` refuses is removed.

    Raises:
        OSError: a local file cannot be written, or a stored file cannot be read.
        Exception: an error of `check`.
    """
    wanted = sorted(with_parents(paths))
    os.makedirs(target, exist_ok=True)
    for path in wanted:
        if path.endswith("/"):
            os.makedirs(os.path.join(target, path), exist_ok=True)

    def fetch(path: str, halt: Halt) -> None:
        moved = halting(progress, halt)
        with writing(os.path.join(target, path)) as put:
            digest, size = hashlib.sha256(), 0
            for piece in pieces_of(os.path.join(source, path)):
                digest.update(piece)
                put(piece)
                size += len(piece)
                moved(len(piece))
            if check is not None:
                check(path, Entry(size, digest.hexdigest()))

    each(fetch, [path for path in wanted if not path.endswith("/")])


@contextlib.contextmanager
def writing(path: str) -> Iterator[Callable[[Any], Any]]:
    """Yield a function that appends to a new file; an error removes the file."""
    with open(path, "wb", buffering=0) as file:
        try:
            yield lambda piece: write_all(file, piece)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise


def sync_files(root: str, paths: Iterable[str]) -> Entries:
    """Flush a tree to disk; return sizes and hashes of its files.

    Raises:
        OSError: a file cannot be read.
    """

    def read(path: str, halt: Halt) -> Entry:
        digest, size = hashlib.sha256(), 0
        whole = os.path.join(root, path)
        for piece in pieces_of(whole):
            halt.check()
            digest.update(piece)
            size += len(piece)
        _sync(whole)
        return Entry(size, digest.hexdigest())

    names = list(paths)
    files = [path for path in names if not path.endswith("/")]
    entries = dict(zip(files, each(read, files)))
    for path in [path for path in names if path.endswith("/")] + [""]:
        sync_directory(os.path.join(root, path))
    return entries


def write_durably(path: str, content: bytes) -> None:
    """Write a file atomically and durably.

    Raises:
        OSError: the file could not be written.
    """
    part = f"{path}.part"
    try:
        with open(part, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    """Flush a directory's entries to disk, if its file system supports that."""
    with contextlib.suppress(OSError):  # FUSE and NFS may not support it
        _sync(path)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def pieces_of(path: str) -> Iterator[memoryview]:
    """A file's content in chunks; each is valid until the next iteration."""
    buffer = bytearray(PIECE_BYTES)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as file:
        while True:
            count = file.readinto(buffer)
            if not count:
                return
            yield view[:count]


def write_all(file: Any, piece: Any) -> None:
    """Write a chunk to an unbuffered file, which may accept it in parts."""
    view = memoryview(piece)
    while view:
        view = view[file.write(view) :]


def _store(
    source: str, target: str, path: str, flush: ThreadPoolExecutor, moved: Callable[[int], None]
) -> Entry:
    digest, size, flushed = hashlib.sha256(), 0, 0
    waiting: List[Future[None]] = []
    pieces = pieces_of(os.path.join(source, path))
    piece = next(pieces, None)  # a read error is not a storage error
    with (
        named(f"storing {path}", target),
        open(os.path.join(target, path), "wb", buffering=0) as file,
    ):
        try:
            while piece is not None:
                write_all(file, piece)
                digest.update(piece)
                size += len(piece)
                moved(len(piece))
                if size - flushed >= FLUSH_BYTES and all(f.done() for f in waiting):
                    flushed = size
                    waiting.append(flush.submit(os.fdatasync, file.fileno()))
                piece = next(pieces, None)
        finally:
            for future in waiting:
                future.exception()  # wait before the file is closed
        for future in waiting:
            future.result()
        os.fsync(file.fileno())
    return Entry(size, digest.hexdigest())


def halting(progress: Progress, halt: Halt) -> Callable[[int], None]:
    """A progress function that also stops a halted transfer."""

    def moved(count: int) -> None:
        halt.check()
        if progress is not None:
            progress(count)

    return moved


@contextlib.contextmanager
def _flusher() -> Iterator[ThreadPoolExecutor]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2, thread_name_prefix="det-flush") as pool:
        yield pool
