"""A checkpoint with manifest and hashes: to a shared file system beside `cp`, and to S3 and back
beside boto3. Both sides move the same files, one after the other in the same run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.object_server import ObjectServer, object_server

from bench.figure import Figure, Limit, Load, Measured
from determined.common import storage

SHARES = (2, 4, 8, 16, 32, 64, 128, 128)
"""Each file is the checkpoint's size divided by one of these."""
BLOCK = 1 << 20


def measure(load: Load) -> Measured:
    """Seconds of each side for `load.count` megabytes; the first limit is that of the disk."""
    root = Path(tempfile.mkdtemp(prefix="det-bench-"))
    try:
        source = root / "source"
        files = _make_files(source, load.count)
        os.sync()
        disk = _beside(
            lambda: _copy(source, root / "cp"),
            lambda: _store(storage.DirectoryStorageManager(root / "base"), source),
        )
        with object_server() as server:
            buckets = _beside(
                lambda: _boto3(server, source, files, root / "theirs"),
                lambda: _ours(server, source, root / "ours"),
            )
    finally:
        shutil.rmtree(root)
    facts = {
        "megabytes": load.count,
        "cp_s": round(disk[0], 3),
        "shared_fs_s": round(disk[1], 3),
        "boto3_s": round(buckets[0], 3),
        "s3_s": round(buckets[1], 3),
    }
    return Measured([disk[0] / disk[1], buckets[0] / buckets[1]], facts)


def _beside(theirs: Callable[[], None], ours: Callable[[], None]) -> tuple[float, float]:
    """Wall-clock seconds of both, each on a disk that is at rest."""
    seconds = []
    for act in (theirs, ours):
        os.sync()
        began = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1]


def _make_files(folder: Path, megabytes: int) -> list[str]:
    folder.mkdir()
    blocks = [os.urandom(BLOCK) for _ in range(4)]
    names = []
    for number, share in enumerate(SHARES):
        size = megabytes * BLOCK // share
        names.append(f"part-{number}")
        with open(folder / names[-1], "wb") as file:
            for start in range(0, size, BLOCK):
                file.write(blocks[(start // BLOCK) % 4][: min(BLOCK, size - start)])
    return names


def _copy(source: Path, target: Path) -> None:
    """As a shell does it, and on the disk at the end."""
    subprocess.run(["cp", "-r", str(source), str(target)], check=True)
    subprocess.run(["sync", *(str(path) for path in target.iterdir()), str(target)], check=True)


def _store(manager: storage.StorageManager, source: Path) -> None:
    files = manager.upload(source, "one")
    manager.seal("one", storage.manifest_of(files, storage.list_directory(str(source))))


def _ours(server: ObjectServer, source: Path, target: Path) -> None:
    config = {
        "type": "s3",
        "bucket": server.new_bucket(),
        "access_key": "key",
        "secret_key": "secret",
        "endpoint_url": server.url,
    }
    manager = storage.build(config)
    _store(manager, source)
    manager.download("one", target)


def _boto3(server: ObjectServer, source: Path, files: Sequence[str], target: Path) -> None:
    import boto3

    client: Any = boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        region_name="us-east-1",
    )
    bucket = server.new_bucket()
    target.mkdir()
    try:
        for name in files:
            client.upload_file(str(source / name), bucket, f"one/{name}")
        for name in files:
            client.download_file(bucket, f"one/{name}", str(target / name))
    finally:
        client.close()


FIGURE = Figure(
    name="checkpoint_throughput",
    limits=[
        Limit("shared_fs over cp", "ratio", 0.7, judged="ratio"),
        Limit("s3 over boto3", "ratio", 1.0, judged="ratio"),
    ],
    measure=None,
    measure_alone=measure,
    full=Load(runs=3, count=512),
    smoke=Load(runs=1, count=51),
    needs="nothing",
)
