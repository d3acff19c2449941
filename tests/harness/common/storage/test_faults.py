"""Full, slow, missing and failing storage: messages, and files that remain."""

from __future__ import annotations

import contextlib
import http.server
import logging
import pathlib
import re
import resource
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from determined.common import storage
from determined.common.storage._faults import explained
from determined.core._checkpoint_progress import logging_progress
from determined.core._init import make_dummy_context


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "small").write_bytes(b"1")
    (folder / "weights").write_bytes(bytes(1_000_000))
    return folder


@contextlib.contextmanager
def no_file_above(count: int) -> Iterator[None]:
    """For this process, which cannot make a file system that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_is_too_large_is_named_and_nothing_is_left(
    source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    context = make_dummy_context(checkpoint_storage=str(tmp_path / "base"))
    with no_file_above(500_000), pytest.raises(storage.CheckpointStorageError) as caught:
        context.checkpoint.upload(source, {"steps_completed": 1})
    assert "storing weights" in str(caught.value)
    assert str(tmp_path / "base") in str(caught.value)
    assert "ulimit -f" in str(caught.value)
    assert list((tmp_path / "base").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("ENOSPC", ["is full", "bytes are free", "det checkpoint delete", "enlarge"]),
        ("EDQUOT", ["is full", "det checkpoint delete"]),
        ("EROFS", ["read-only", "task's user can write"]),
        ("EACCES", ["task's user can write"]),
        ("ESTALE", ["is not available", "mounted"]),
        ("EIO", ["is not available", "mounted"]),
    ],
)
def test_each_fault_of_a_file_system_has_its_remedy(
    number: str, words: list[str], tmp_path: pathlib.Path
) -> None:
    import errno
    import os

    value = getattr(errno, number)
    told = explained(OSError(value, os.strerror(value)), "storing a.bin", str(tmp_path))
    assert told.errno == value
    assert all(word in str(told) for word in ["storing a.bin", str(tmp_path), *words])


@pytest.mark.slow
def test_a_disk_that_is_full_is_named_and_nothing_is_left(
    source: pathlib.Path, small_disk: pathlib.Path
) -> None:
    (source / "more").write_bytes(bytes(4_000_000))
    context = make_dummy_context(checkpoint_storage=str(small_disk / "base"))
    with pytest.raises(storage.CheckpointStorageError, match=r"is full .*det checkpoint delete"):
        context.checkpoint.upload(source, {"steps_completed": 1})
    assert list((small_disk / "base").iterdir()) == []
    (source / "more").unlink()
    context.checkpoint.upload(source, {"steps_completed": 1})


@pytest.mark.slow
@pytest.mark.parametrize("glob", ["optimizer/**", "**/*"])
def test_on_a_disk_that_is_full_to_the_last_block_deleting_makes_room(
    source: pathlib.Path, small_disk: pathlib.Path, glob: str
) -> None:
    """Also of a part, for which a smaller manifest is to be written before."""
    (source / "optimizer").mkdir()
    (source / "optimizer" / "state").write_bytes(bytes(100_000))
    manager = storage.DirectoryStorageManager(small_disk / "base")
    files = manager.upload(source, "one")
    manager.seal("one", storage.manifest_of(files, {}))
    others = (small_disk / "others").open("wb", buffering=0)
    with others, contextlib.suppress(OSError):
        while others.write(bytes(4096)):
            continue
    left = manager.delete("one", [glob])
    assert "optimizer/state" not in left
    if left:
        manager.download("one", small_disk.parent / "back")
    assert not list(small_disk.glob("base/*.part"))


@pytest.fixture
def small_disk(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A file system of 3 MB."""
    import subprocess

    where = tmp_path / "disk"
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(where)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", str(where)], check=True)


def test_a_storage_that_went_away_is_named(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    manager = storage.DirectoryStorageManager("/proc/nothing-may-be-made-here")
    with pytest.raises(storage.CheckpointStorageError, match="/proc/nothing-may"):
        manager.upload(source, "one")
    with pytest.raises(storage.CheckpointStorageError, match="/proc/nothing-may"):
        manager.validate()


class Broken(http.server.BaseHTTPRequestHandler):
    """A service that is down."""

    calls: list[str]

    def answer(self) -> None:
        self.calls.append(self.command)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

    def log_message(self, *_: Any) -> None:
        """In silence."""


@pytest.fixture
def broken() -> Iterator[tuple[str, list[str]]]:
    """The address of a storage that answers 503, and the calls made to it."""
    handler = type("Handler", (Broken,), {"calls": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler.calls
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def s3(url: str) -> dict[str, Any]:
    keys = {"access_key": "key", "secret_key": "hush-hush"}
    return {"type": "s3", "bucket": "b", "endpoint_url": url, **keys}


@pytest.mark.slow
def test_a_service_that_answers_503_is_asked_again_and_then_named(
    source: pathlib.Path, broken: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, calls = broken
    monkeypatch.setenv("DET_STORAGE_RETRY_S", "1")
    context = make_dummy_context(checkpoint_storage=s3(url))
    with pytest.raises(storage.CheckpointStorageError) as caught:
        context.checkpoint.upload(source, {"steps_completed": 1})
    assert "s3://b" in str(caught.value)
    assert "503" in str(caught.value)
    assert "DET_STORAGE_RETRY_S" in str(caught.value)
    assert "hush-hush" not in str(caught.value)
    assert calls.count("PUT") > 2


@pytest.mark.slow
def test_a_missing_service_is_named(unused_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_STORAGE_RETRY_S", "0.2")
    with pytest.raises(storage.CheckpointStorageError, match="can be reached from this machine"):
        storage.build(s3(f"http://127.0.0.1:{unused_port}")).validate()


def test_a_long_transfer_logs_its_progress(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = threading.Event()

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "1.2 MB" in record.getMessage() and "; no progress" in record.getMessage():
                told.set()

    logger, handler = logging.getLogger("determined.core"), Heard()
    logger.addHandler(handler)
    try:
        with logging_progress("storing checkpoint x", 5_000_000, every_s=0.01) as moved:
            moved(1_200_000)
            assert told.wait(60)
    finally:
        logger.removeHandler(handler)
    lines = [record.getMessage() for record in caplog.records]
    first, *others = (line for line in lines if "1.2 MB" in line)  # it may be told of before
    assert re.fullmatch(r"storing checkpoint x: 1\.2 MB of 5\.0 MB after \d+ s", first)
    assert all("; no progress since the last report" in line for line in others)
