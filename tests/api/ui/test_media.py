"""Images, tables, histograms, audio and texts of trials, from directories and buckets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import ok
from tests.api.test_downloads import s3, submitted
from tests.object_server import ObjectServer, object_server

from determined_master.domain.checkpoints import media as rules
from determined_master.domain.checkpoints.access import StorageAccess
from determined_master.services.catalog import Services
from determined_master.services.checkpoints import media
from determined_master.services.checkpoints.media import TrialMedia
from determined_wire.agent_link import NO_STORAGE_MARK

pytestmark = pytest.mark.slow

IMAGE = "training/a=2Fb/000000000100.image.png"
TEXT = "validation/note/000000000200.text.txt"
FILES = {
    IMAGE: b"\x89PNG",
    "training/a=2Fb/000000000200.image.png": b"\x89PNG2",
    TEXT: b"<script>alert(1)</script>",
    "training/x/notes.html": b"<script>alert(1)</script>",
}


async def with_storage(admin: Client, storage: dict[str, Any]) -> dict[str, Any]:
    """A trial whose run stores there."""
    trial = await submitted(admin)
    body = {"runId": trial["id"], "checkpointStorage": storage}
    await ok(admin, "POST", "/api/v1/runs/start", body)
    return trial


def directory_of(services: Services, trial: dict[str, Any]) -> str:
    cluster = services[TrialMedia]._cluster_id
    return rules.media_directory(cluster, trial["experimentId"], trial["id"])


def fill(directory: Path) -> None:
    for name, content in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture
async def trial(admin: Client, services: Services, tmp_path: Path) -> dict[str, Any]:
    """A trial with files in `tmp_path/inner`."""
    storage = {"type": "shared_fs", "host_path": str(tmp_path), "storage_path": "inner"}
    trial = await with_storage(admin, storage)
    fill(tmp_path / "inner" / directory_of(services, trial))
    return trial


@pytest.fixture
def directory(services: Services, trial: dict[str, Any], tmp_path: Path) -> Path:
    """Of its files."""
    return tmp_path / "inner" / directory_of(services, trial)


def address(trial: dict[str, Any], path: str = "") -> str:
    base = f"/api/ui/v1/trials/{trial['id']}/media"
    return f"{base}/{path}" if path else base


def series(group: str, name: str, kind: str, extension: str, path: str, *steps: int) -> Any:
    return {
        "group": group,
        "name": name,
        "kind": kind,
        "extension": extension,
        "path": path,
        "steps": list(steps),
    }


LISTED = {
    "media": [
        series("training", "a/b", "image", "png", "training/a=2Fb", 100, 200),
        series("validation", "note", "text", "txt", "validation/note", 200),
    ],
    "isCut": False,
}


async def test_a_list_has_names_kinds_and_steps(user: Client, trial: dict[str, Any]) -> None:
    assert await ok(user, "GET", address(trial)) == LISTED


async def test_a_trial_without_files_has_an_empty_list(admin: Client, tmp_path: Path) -> None:
    storage = {"type": "directory", "container_path": str(tmp_path / "none")}
    trial = await with_storage(admin, storage)
    assert await ok(admin, "GET", address(trial)) == {"media": [], "isCut": False}
    answer = await admin("GET", address(trial, IMAGE))
    assert (answer.status, "it was deleted" in answer.text) == (404, True)


@pytest.mark.parametrize(
    ("path", "content_type"), [(IMAGE, "image/png"), (TEXT, "text/plain; charset=utf-8")]
)
async def test_a_file_has_the_type_of_its_kind_and_runs_nothing(
    user: Client, trial: dict[str, Any], path: str, content_type: str
) -> None:
    answer = await user("GET", address(trial, path))
    assert (answer.status, answer.body) == (200, FILES[path])
    headers = answer.headers
    assert headers["content-type"] == content_type
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["cache-control"] == "private, max-age=60"


@pytest.mark.parametrize(
    "path",
    [
        "training/x/notes.html",
        "training/../000000000100.image.png",
        "training/%2e%2e/secret",
        "..%2F..%2F/x/000000000100.image.png",
        "training/a=2Fb/..%2f..%2f..%2fsecret",
        "training/a%2Fb/000000000100.image.png",
        "training/a=2Fb/000000000100.image.svg",
        "training/a=2Fb/000000000100.image.png%00",
        "training/a=2Fb",
    ],
)
async def test_no_other_path_leads_to_a_file(
    admin: Client, trial: dict[str, Any], path: str
) -> None:
    answer = await admin("GET", address(trial, path))
    assert answer.status == 404, answer.body
    assert b"script" not in answer.body


@pytest.mark.parametrize(("wrong", "status"), [("x", 400), ("99999999999", 400), ("999999", 404)])
async def test_a_trial_that_does_not_exist_has_none(
    admin: Client, wrong: str, status: int
) -> None:
    for path in ("", IMAGE):
        assert (await admin("GET", address({"id": wrong}, path))).status == status


async def test_links_lead_nowhere(
    admin: Client, trial: dict[str, Any], directory: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "000000000001.text.txt").write_text("secret")
    (directory / "training/link").symlink_to(tmp_path / "secrets")
    (directory / "validation/note/000000000300.text.txt").symlink_to(tmp_path / "secret")
    assert await ok(admin, "GET", address(trial)) == LISTED
    for path in ("training/link/000000000001.text.txt", "validation/note/000000000300.text.txt"):
        answer = await admin("GET", address(trial, path))
        assert (answer.status, b"secret" in answer.body) == (404, False)


async def test_a_pipe_does_not_hold_the_master(
    admin: Client, trial: dict[str, Any], directory: Path
) -> None:
    os.mkfifo(directory / "validation/note/000000000300.text.txt")
    assert await ok(admin, "GET", address(trial)) == LISTED
    path = "validation/note/000000000300.text.txt"
    assert (await admin("GET", address(trial, path))).status == 404


async def test_a_directory_of_an_agent_is_no_storage(
    admin: Client, trial: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / NO_STORAGE_MARK).touch()
    for path in ("", IMAGE):
        answer = await admin("GET", address(trial, path))
        assert (answer.status, "holds data of an agent" in answer.text) == (400, True)


async def test_a_huge_file_is_refused_without_being_read(
    admin: Client, trial: dict[str, Any], directory: Path
) -> None:
    with (directory / TEXT).open("r+b") as file:
        file.truncate(rules.MAX_MEDIA_BYTES)
    assert (await admin("GET", address(trial, TEXT))).status == 200
    with (directory / TEXT).open("r+b") as file:
        file.truncate(50 * 1024**3)
    answer = await admin("GET", address(trial, TEXT))
    assert answer.status == 400
    assert f"media {TEXT} of trial {trial['id']} has more than" in answer.text
    assert "read it from the storage" in answer.text


async def test_a_list_is_bounded(
    admin: Client, trial: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = 9  # two groups, three names, four files
    for most, is_cut in ((entries, False), (entries - 1, True), (1, True)):
        monkeypatch.setattr(media, "MAX_MEDIA_FILES", most)
        answer = await ok(admin, "GET", address(trial))
        assert answer["isCut"] is is_cut
        assert sum(len(one["steps"]) for one in answer["media"]) <= most


@pytest.fixture(scope="module")
def objects() -> Iterator[ObjectServer]:
    with object_server() as running:
        yield running


@pytest.fixture
def may_read(services: Services, objects: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of the tests is at a loopback address."""
    buckets: Any = services[TrialMedia]._buckets
    monkeypatch.setattr(buckets, "_access", StorageAccess(allowed_endpoints=[objects.url]))


@pytest.mark.usefixtures("may_read")
async def test_media_in_a_bucket_are_listed_and_read(
    admin: Client, services: Services, objects: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = objects.new_bucket()
    trial = await with_storage(admin, s3(objects, bucket=bucket))
    for name, content in FILES.items():
        objects.put(bucket, f"some/where/{directory_of(services, trial)}/{name}", content)
    assert await ok(admin, "GET", address(trial)) == LISTED
    answer = await admin("GET", address(trial, IMAGE))
    assert (answer.status, answer.body) == (200, FILES[IMAGE])
    gone = await admin("GET", address(trial, "training/gone/000000000100.image.png"))
    assert gone.status == 404
    monkeypatch.setattr(media, "MAX_MEDIA_BYTES", 3)
    large = await admin("GET", address(trial, IMAGE))
    assert (large.status, "has more than 3 bytes" in large.text) == (400, True)
    monkeypatch.setattr(media, "MAX_MEDIA_FILES", 1)
    cut = await ok(admin, "GET", address(trial))
    assert (cut["isCut"], sum(len(one["steps"]) for one in cut["media"]) <= 1) == (True, True)


async def test_a_bucket_that_the_admin_does_not_allow_is_not_read(
    admin: Client, objects: ObjectServer
) -> None:
    trial = await with_storage(admin, s3(objects, bucket=objects.new_bucket()))
    for path in ("", IMAGE):
        assert (await admin("GET", address(trial, path))).status == 400
