"""Clients of buckets in images without obstore: the cluster's own, and those of the clouds."""

from __future__ import annotations

import functools
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contracts.storage_contract import Shelf, StorageContract, contents, source
from tests.harness.common.storage.cloud_libraries import azure_in_memory, google_in_memory
from tests.object_server import ObjectServer, object_server

from determined.common import storage
from determined.common.storage._clients._azure import AzureClient
from determined.common.storage._clients._boto3 import Boto3Client
from determined.common.storage._clients._google import GoogleClient
from determined.common.storage._clients._interface import PART_BYTES, PieceFile

__all__ = ["source"]

PREFIX = "some/where"
MODULES = ("obstore", "obstore.store")


@pytest.fixture
def without_obstore(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectServer]:
    with object_server() as running:
        yield running


def s3_config(server: ObjectServer) -> dict[str, Any]:
    return {
        "type": "s3",
        "bucket": server.new_bucket(),
        "prefix": PREFIX,
        "access_key": "key",
        "secret_key": "secret",
        "endpoint_url": server.url,
    }


def s3_shelf(server: ObjectServer, config: dict[str, Any]) -> Shelf:
    bucket = config["bucket"]
    return Shelf(
        storage.build(config),
        read=lambda key: server.get(bucket, f"{PREFIX}/{key}"),
        write=lambda key, content: server.put(bucket, f"{PREFIX}/{key}", content),
        remove=lambda key: server.remove(bucket, f"{PREFIX}/{key}"),
        names=lambda: [key[len(PREFIX) + 1 :] for key in server.keys(bucket)],
    )


def memory_shelf(config: dict[str, Any], objects: dict[str, bytes], prefix: str) -> Shelf:
    return Shelf(
        storage.build(config),
        read=lambda key: objects[f"{prefix}{key}"],
        write=lambda key, content: objects.__setitem__(f"{prefix}{key}", content),
        remove=lambda key: objects.pop(f"{prefix}{key}"),
        names=lambda: [key[len(prefix) :] for key in sorted(objects)],
    )


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.xdist_group("objects")
@pytest.mark.usefixtures("without_obstore")
class TestS3ByBoto3(StorageContract):
    @pytest.fixture
    def shelf(self, server: ObjectServer) -> Shelf:
        return s3_shelf(server, s3_config(server))


@pytest.mark.usefixtures("without_obstore")
class TestGcsByGooglesLibrary(StorageContract):
    @pytest.fixture
    def shelf(self, monkeypatch: pytest.MonkeyPatch) -> Shelf:
        objects = google_in_memory(monkeypatch)
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
        config = {"type": "gcs", "bucket": "one", "prefix": PREFIX}
        return memory_shelf(config, objects, f"{PREFIX}/")


@pytest.mark.usefixtures("without_obstore")
class TestAzureByItsLibrary(StorageContract):
    @pytest.fixture
    def shelf(self, monkeypatch: pytest.MonkeyPatch) -> Shelf:
        objects = azure_in_memory(monkeypatch)
        account = {"account_url": "https://one.blob.core.windows.net", "credential": "a2V5"}
        return memory_shelf({"type": "azure", "container": "one", **account}, objects, "")


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.xdist_group("objects")
@pytest.mark.usefixtures("without_obstore")
def test_boto3_moves_large_files_in_parts(server: ObjectServer, tmp_path: pathlib.Path) -> None:
    shelf = s3_shelf(server, s3_config(server))
    assert isinstance(shelf.manager._bucket._client, Boto3Client)  # type: ignore[attr-defined]
    folder = tmp_path / "source"
    folder.mkdir()
    content = functools.reduce(lambda all_, n: all_ + bytes([n]) * PART_BYTES, range(3), b"")
    (folder / "large").write_bytes(content + b"end")
    shelf.store("one", folder)
    shelf.manager.download("one", tmp_path / "back")
    assert contents(tmp_path / "back") == contents(folder)


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.xdist_group("objects")
@pytest.mark.usefixtures("without_obstore")
def test_boto3_names_a_bucket_that_is_not_there(server: ObjectServer) -> None:
    config = {**s3_config(server), "bucket": "nobody-made-it"}
    with pytest.raises(storage.CheckpointStorageError, match=r"s3://nobody-made-it/.*bucket ex"):
        storage.build(config).validate()


@pytest.mark.usefixtures("without_obstore")
def test_boto3_names_a_service_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_STORAGE_RETRY_S", "1")
    config = {"type": "s3", "bucket": "one", "access_key": "a", "secret_key": "b"}
    manager = storage.build({**config, "endpoint_url": "http://127.0.0.1:1"})
    with pytest.raises(storage.CheckpointStorageError, match=r"s3://one.*service works"):
        manager.validate()


@pytest.mark.usefixtures("without_obstore")
def test_the_libraries_faults_have_their_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    google_in_memory(monkeypatch, status=403)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
    for status, words in ((403, "credentials"), (404, "bucket exists"), (500, "service works")):
        google_in_memory(monkeypatch, status=status)
        manager = storage.build({"type": "gcs", "bucket": "one"})
        assert isinstance(manager._bucket._client, GoogleClient)  # type: ignore[attr-defined]
        with pytest.raises(storage.CheckpointStorageError, match=words):
            manager.validate()
        azure_in_memory(monkeypatch, status=status)
        account = {"account_url": "https://one.blob.core.windows.net", "credential": "a2V5"}
        manager = storage.build({"type": "azure", "container": "one", **account})
        assert isinstance(manager._bucket._client, AzureClient)  # type: ignore[attr-defined]
        with pytest.raises(storage.CheckpointStorageError, match=words):
            manager.validate()


def test_pieces_are_a_file_that_is_read_in_any_sizes() -> None:
    file = PieceFile(iter([b"abc", b"", b"defg", b"h"]))
    assert [file.read(2), file.tell(), file.read(4), file.read(0), file.read(), file.read(1)] == [
        b"ab",
        2,
        b"cdef",
        b"",
        b"gh",
        b"",
    ]


@pytest.mark.usefixtures("without_obstore")
@pytest.mark.parametrize("library", ["boto3", "google.cloud.storage", "azure.storage.blob"])
@pytest.mark.parametrize("is_task", [True, False])
def test_without_any_client_the_remedy_is_one_that_works(
    library: str, is_task: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    kind = {"boto3": "s3", "google.cloud.storage": "gcs", "azure.storage.blob": "azure"}[library]
    for name in ("boto3", "google.auth", "google.cloud.storage", "azure.storage.blob"):
        monkeypatch.setitem(sys.modules, name, None)
    if is_task:
        monkeypatch.setenv("DET_MASTER", "http://127.0.0.1:1")
        monkeypatch.setenv("DET_SESSION_TOKEN", "token")
        monkeypatch.setenv("DET_RETRY_CONFIG", '{"total": 0}')
        monkeypatch.setenv("DET_RUN_DIR", str(tmp_path))
    account = {"account_url": "https://one.blob.core.windows.net", "credential": "a2V5"}
    config = {"bucket": "one", "container": "one", "endpoint_url": "http://127.0.0.1:1"}
    with pytest.raises(storage.CheckpointStorageError) as caught:
        storage.build({"type": kind, **config, **(account if kind == "azure" else {})})
    text = str(caught.value)
    own = {"s3": "boto3", "gcs": "google-cloud-storage", "azure": "azure-storage-blob"}[kind]
    remedy = f"add obstore or {own} to the task's image"
    assert (remedy in text) is is_task
    assert ("pip install 'determined-platform[storage]'" in text) is not is_task
    assert "'determined[" not in text
    assert os.listdir(tmp_path) == []
