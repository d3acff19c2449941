"""Checkpoint storage in buckets of S3 and Google."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contracts.storage_contract import Shelf, StorageContract, contents, source
from tests.object_server import ObjectServer, object_server

from determined.common import storage

__all__ = ["source"]
pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.xdist_group("objects")]

PREFIX = "some/where"


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectServer]:
    with object_server() as running:
        yield running


def shelf_of(server: ObjectServer, config: dict[str, Any]) -> Shelf:
    bucket = config["bucket"]
    return Shelf(
        storage.build(config),
        read=lambda key: server.get(bucket, f"{PREFIX}/{key}"),
        write=lambda key, content: server.put(bucket, f"{PREFIX}/{key}", content),
        remove=lambda key: server.remove(bucket, f"{PREFIX}/{key}"),
        names=lambda: [key[len(PREFIX) + 1 :] for key in server.keys(bucket)],
    )


def s3_config(server: ObjectServer) -> dict[str, Any]:
    return {
        "type": "s3",
        "bucket": server.new_bucket(),
        "prefix": f"/{PREFIX}/",
        "access_key": "key",
        "secret_key": "secret",
        "endpoint_url": server.url,
    }


class TestS3(StorageContract):
    @pytest.fixture
    def shelf(self, server: ObjectServer) -> Shelf:
        return shelf_of(server, s3_config(server))


class TestGcs(StorageContract):
    @pytest.fixture
    def shelf(self, server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> Shelf:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        config = {"type": "gcs", "bucket": server.new_bucket(), "prefix": PREFIX}
        return shelf_of(server, config)


def test_empty_objects_of_an_older_harness_are_directories(
    server: ObjectServer, tmp_path: pathlib.Path
) -> None:
    shelf = shelf_of(server, s3_config(server))
    for key, content in {"code/": b"", "code/m.py": b"1", "logs/": b"", "none": b""}.items():
        shelf.write(f"old/{key}", content)
    sizes = {"code/": 0, "code/m.py": 1, "logs/": 0, "none": 0}
    assert shelf.manager.list_paths("old") == sizes
    shelf.manager.download("old", tmp_path / "back")
    assert contents(tmp_path / "back") == {"code/m.py": b"1", "none": b""}
    assert (tmp_path / "back" / "logs").is_dir()
    assert shelf.manager.delete("old", ["**/*"]) == {}


def test_a_name_that_object_storage_does_not_take_is_named(
    server: ObjectServer, tmp_path: pathlib.Path
) -> None:
    shelf = shelf_of(server, s3_config(server))
    (tmp_path / "new\nline").write_text("x")
    with pytest.raises(storage.CheckpointStorageError, match="rename the file"):
        shelf.manager.upload(tmp_path, "one")


def test_a_bucket_that_is_not_there_is_named(server: ObjectServer) -> None:
    config = {**s3_config(server), "bucket": "nobody-made-it"}
    with pytest.raises(storage.CheckpointStorageError, match=r"s3://nobody-made-it/.*bucket ex"):
        storage.build(config).validate()
