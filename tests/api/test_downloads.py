"""Downloads through the master: the files of checkpoints and model directories."""

from __future__ import annotations

import base64
import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.cases_experiments import CONFIG, FILE, until
from tests.api.client import Client
from tests.covers import covers
from tests.object_server import ObjectServer, object_server

from determined_master import entropy
from determined_master.api.experiments import model_definitions
from determined_master.domain.checkpoints.access import StorageAccess
from determined_master.services.catalog import Services
from determined_master.services.checkpoints.files import CheckpointFiles
from determined_master.store.experiments import experiments

FILES = {"weights.bin": b"\x01\x02" * 1_000_000, "sub/deep/notes.txt": b"hello\n", "empty": b""}


async def submitted(admin: Client, config: str = CONFIG) -> dict[str, Any]:
    """The trial of a new experiment."""
    body = {"config": config, "modelDefinition": [FILE], "activate": False}
    answer = await admin("POST", "/api/v1/experiments", body)
    assert answer.status == 200, answer.body
    path = f"/api/v1/experiments/{answer.json()['experiment']['id']}/trials"
    [trial] = await until(admin, path, lambda got: got["trials"])
    return dict(trial)


async def registered(admin: Client, storage: dict[str, Any]) -> str:
    """The UUID of a new checkpoint in that storage."""
    trial = await submitted(admin)
    start = {"runId": trial["id"], "checkpointStorage": storage}
    stored = (await admin("POST", "/api/v1/runs/start", start)).json()
    uuid = str(entropy.new_uuid())
    body = {
        "taskId": trial["taskId"],
        "uuid": uuid,
        "resources": {"a": "1"},
        "metadata": {"steps_completed": 1},
        "state": "STATE_COMPLETED",
        "storageId": stored["storageId"],
    }
    assert (await admin("POST", "/api/v1/checkpoints", body)).status == 200
    return uuid


async def stored(admin: Client, root: Path) -> tuple[str, Path]:
    """A checkpoint with files, below the storage path of a shared file system."""
    storage = {"type": "shared_fs", "host_path": str(root), "storage_path": "inner"}
    uuid = await registered(admin, storage)
    directory = root / "inner" / uuid
    for name, content in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return uuid, directory


@pytest.mark.parametrize(
    ("accept", "kind", "mode"),
    [
        ({"accept": "application/gzip"}, "application/gzip", "r:gz"),
        ({"accept": "text/html, application/x-tar;q=0.9"}, "application/x-tar", "r:"),
        ({}, "application/x-tar", "r:"),
    ],
)
@covers("experiment-config 14.download")
async def test_a_checkpoint_comes_as_the_tar_that_is_asked_for(
    admin: Client, tmp_path: Path, accept: dict[str, str], kind: str, mode: Any
) -> None:
    uuid, _ = await stored(admin, tmp_path)
    answer = await admin("GET", f"/checkpoints/{uuid}", headers=accept)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    with tarfile.open(fileobj=io.BytesIO(answer.body), mode=mode) as tar:
        found = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}
        assert {m.name for m in tar if m.isdir()} == {"sub", "sub/deep"}
    assert found == FILES
    assert len(answer.pieces) > 2, "it comes in pieces"


async def test_a_checkpoint_comes_as_zip(admin: Client, tmp_path: Path) -> None:
    uuid, _ = await stored(admin, tmp_path)
    answer = await admin("GET", f"/checkpoints/{uuid}", headers={"accept": "application/zip"})
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert archive.testzip() is None
        names = [n for n in archive.namelist() if not n.endswith("/")]
        assert {name: archive.read(name) for name in names} == FILES


async def test_a_link_out_of_a_checkpoint_is_not_followed(admin: Client, tmp_path: Path) -> None:
    uuid, directory = await stored(admin, tmp_path)
    (tmp_path / "secret").write_text("secret")
    (directory / "leak").symlink_to(tmp_path / "secret")
    (directory / "leaks").symlink_to(tmp_path)
    (directory / "best.txt").symlink_to("sub/deep/notes.txt")
    answer = await admin("GET", f"/checkpoints/{uuid}")
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as tar:
        names = {m.name for m in tar if not m.isdir()}
        assert tar.extractfile("best.txt").read() == b"hello\n"
    assert names == {*FILES, "best.txt"}
    assert b"secret" not in answer.body


async def test_a_checkpoint_that_is_itself_a_link_has_no_files(
    admin: Client, tmp_path: Path
) -> None:
    storage = {"type": "directory", "container_path": str(tmp_path)}
    uuid = await registered(admin, storage)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / uuid).symlink_to(tmp_path / "elsewhere")
    answer = await admin("GET", f"/checkpoints/{uuid}")
    assert (answer.status, uuid in answer.text) == (404, True)


@pytest.fixture(scope="module")
def objects() -> Iterator[ObjectServer]:
    with object_server() as running:
        yield running


@pytest.fixture
def may_read(services: Services, objects: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of the tests is at a loopback address."""
    buckets: Any = services[CheckpointFiles]._buckets
    monkeypatch.setattr(buckets, "_access", StorageAccess(allowed_endpoints=[objects.url]))


def s3(objects: ObjectServer, **overrides: str) -> dict[str, Any]:
    keys = {"access_key": "key", "secret_key": "secret", "prefix": "some/where"}
    return {"type": "s3", "endpoint_url": objects.url, **keys, **overrides}


@covers("experiment-config 14.download")
@pytest.mark.slow
@pytest.mark.usefixtures("may_read")
@pytest.mark.parametrize("kind", ["s3", "gcs"])
async def test_a_checkpoint_in_a_bucket_comes_as_an_archive(
    admin: Client, objects: ObjectServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = objects.new_bucket()
    config = s3(objects, bucket=bucket)
    if kind == "gcs":
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", objects.url)
        config = {"type": "gcs", "bucket": bucket, "prefix": "some/where"}
    uuid = await registered(admin, config)
    for name, content in {**FILES, "sub/": b""}.items():
        objects.put(bucket, f"some/where/{uuid}/{name}", content)
    objects.put(bucket, f"some/where/{uuid}.manifest.json", b"{}")
    answer = await admin("GET", f"/checkpoints/{uuid}", headers={"accept": "application/gzip"})
    with tarfile.open(fileobj=io.BytesIO(answer.body), mode="r:gz") as tar:
        assert {m.name: tar.extractfile(m).read() for m in tar if m.isfile()} == FILES
        assert {m.name for m in tar if m.isdir()} == {"sub", "sub/deep"}
    answer = await admin("GET", f"/checkpoints/{uuid}", headers={"accept": "application/zip"})
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        names = [n for n in archive.namelist() if not n.endswith("/")]
        assert {name: archive.read(name) for name in names} == FILES
    assert (await admin("GET", f"/checkpoints/{uuid}/manifest")).body == b"{}"


@pytest.mark.slow
@pytest.mark.usefixtures("may_read")
async def test_errors_of_a_bucket_name_the_missing_or_refused_object(
    admin: Client, objects: ObjectServer
) -> None:
    uuid = await registered(admin, s3(objects, bucket=objects.new_bucket()))
    answer = await admin("GET", f"/checkpoints/{uuid}")
    assert (answer.status, "has no files" in answer.text) == (404, True)
    assert (await admin("GET", f"/checkpoints/{uuid}/manifest")).status == 404
    uuid = await registered(admin, s3(objects, bucket="nobodymadeit"))
    answer = await admin("GET", f"/checkpoints/{uuid}")
    assert answer.status == 503
    assert "s3://nobodymadeit/some/where" in answer.text
    assert "--mode direct" in answer.text
    assert (await admin("GET", "/checkpoints/nonsense")).status == 400


async def test_the_manifest_of_a_checkpoint_is_given_and_no_link(
    admin: Client, tmp_path: Path
) -> None:
    uuid, directory = await stored(admin, tmp_path)
    assert (await admin("GET", f"/checkpoints/{uuid}/manifest")).status == 404
    manifest = directory.with_name(f"{uuid}.manifest.json")
    (tmp_path / "secret").write_text("secret")
    manifest.symlink_to(tmp_path / "secret")
    assert (await admin("GET", f"/checkpoints/{uuid}/manifest")).status == 404
    manifest.unlink()
    manifest.write_text("{}")
    answer = await admin("GET", f"/checkpoints/{uuid}/manifest")
    assert (answer.status, answer.body) == (200, b"{}")


async def test_a_model_directory_comes_as_a_file(admin: Client) -> None:
    trial = await submitted(admin, CONFIG.replace("wirex", '"a\\"; b\\n/ü"'))
    path = f"/experiments/{trial['experimentId']}/model_def"
    answer = await admin("GET", path)
    assert answer.headers["content-type"] == "application/x-gtar"
    name = f"exp{trial['experimentId']}_a__ b____model_def.tar.gz"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as tar:
        assert tar.extractfile("train.py").read() == base64.b64decode(FILE["content"])
    for wrong, status in (("x", 400), ("99999999999", 400), ("999999", 404)):
        assert (await admin("GET", f"/experiments/{wrong}/model_def")).status == status


async def test_a_model_directory_of_several_pieces_is_whole(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = await submitted(admin)
    path = f"/experiments/{trial['experimentId']}/model_def"
    whole = (await admin("GET", path)).body
    for bytes_a_piece in (len(whole), len(whole) - 1, 12):
        monkeypatch.setattr(experiments, "MODEL_PIECE_BYTES", bytes_a_piece)
        monkeypatch.setattr(model_definitions, "BASE64_PIECE", bytes_a_piece // 3 * 3)
        assert (await admin("GET", path)).body == whole
        found = (await admin("GET", f"/api/v1{path}")).json()
        assert base64.b64decode(found["b64Tgz"], validate=True) == whole
