"""Checkpoint storage in a directory."""

from __future__ import annotations

import os
import pathlib

import pytest

from determined.common import storage
from determined.common.storage._files import matches_any
from determined.errors import CheckpointNotFound


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "source"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "a.txt").write_text("12345")
    (folder / "deep" / "er" / "b.bin").write_bytes(b"1")
    return folder


@pytest.fixture
def manager(tmp_path: pathlib.Path) -> storage.StorageManager:
    return storage.DirectoryStorageManager(tmp_path / "base")


def test_a_listing_has_sizes_and_marks_directories(source: pathlib.Path) -> None:
    assert storage.list_directory(str(source)) == {
        "a.txt": 5,
        "deep/": 0,
        "deep/er/": 0,
        "deep/er/b.bin": 1,
        "empty/": 0,
    }


def test_a_link_into_its_own_tree_does_not_make_a_listing_endless(source: pathlib.Path) -> None:
    (source / "deep" / "up").symlink_to(source)
    assert len(storage.list_directory(str(source))) == 6


def test_what_is_uploaded_comes_back(
    manager: storage.StorageManager, source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    manager.upload(source, "one")
    manager.download("one", tmp_path / "back")
    assert storage.list_directory(str(tmp_path / "back")) == storage.list_directory(str(source))
    manager.download("one", tmp_path / "part", lambda path: path.endswith(".bin"))
    assert sorted(storage.list_directory(str(tmp_path / "part"))) == [
        "deep/",
        "deep/er/",
        "deep/er/b.bin",
    ]


def test_other_users_may_collect_what_this_one_stored(
    manager: storage.DirectoryStorageManager, source: pathlib.Path
) -> None:
    manager.upload(source, "one")
    with manager.store_path("two") as path:
        (path / "sub").mkdir()
    for name in ("one", "one/deep", "one/deep/er", "two", "two/sub"):
        assert os.stat(os.path.join(manager.base_path, name)).st_mode & 0o777 == 0o777


def test_deleting_by_pattern_leaves_the_rest(
    manager: storage.DirectoryStorageManager, source: pathlib.Path
) -> None:
    manager.upload(source, "one")
    assert manager.delete("one", ["**/*.bin"]) == {"a.txt": 5}
    assert manager.delete("one", ["**/*"]) == {}
    assert not os.path.exists(os.path.join(manager.base_path, "one"))
    with pytest.raises(CheckpointNotFound, match="one"):
        manager.delete("one", ["**/*"])


@pytest.mark.parametrize(
    ("path", "glob", "fits"),
    [
        ("a/b.txt", "**/*", True),
        ("b.txt", "**/*", True),
        ("a/b.txt", "*", False),
        ("a/b.txt", "a/?.txt", True),
        ("a.b", "a?b", True),
        ("axb", "a.b", False),
    ],
)
def test_patterns_know_directories(path: str, glob: str, fits: bool) -> None:
    assert matches_any(path, [glob]) is fits


@pytest.mark.parametrize("uuid", ["", "..", "a/b", "/etc"])
def test_a_uuid_cannot_lead_elsewhere(manager: storage.StorageManager, uuid: str) -> None:
    with pytest.raises(ValueError, match="no checkpoint's uuid"):
        manager.delete(uuid, ["**/*"])


def test_validation_leaves_nothing(manager: storage.DirectoryStorageManager) -> None:
    manager.validate()
    assert os.listdir(manager.base_path) == []


def test_the_storage_path_lies_below_the_shared_root() -> None:
    config = {"type": "shared_fs", "host_path": "/data", "storage_path": "ckpt"}
    assert storage.base_path(config, "/root") == "/root/ckpt"
    assert storage.base_path({**config, "storage_path": "/data/x"}, "/root") == "/root/x"
    assert storage.base_path({**config, "storage_path": None}, "/root") == "/root"
    for bad in ("../x", "/elsewhere"):
        with pytest.raises(ValueError, match="leads out of host_path"):
            storage.base_path({**config, "storage_path": bad}, "/root")


def test_what_is_not_served_is_named() -> None:
    with pytest.raises(ValueError, match="'s3' is not served"):
        storage.build({"type": "s3", "bucket": "b"})
    with pytest.raises(ValueError, match="must be one of"):
        storage.build({"type": "tape"})


def test_short_forms_of_storage() -> None:
    assert storage.from_string("/a/b", True) == {"type": "shared_fs", "host_path": "/a/b"}
    assert storage.from_string("file:///a", False) == {"type": "directory", "container_path": "/a"}
    assert storage.from_string("s3://b/p/q/", True) == {
        "type": "s3",
        "bucket": "b",
        "prefix": "p/q",
    }
    for bad in ("ftp://x", "file://host/x", "/a?b=1"):
        with pytest.raises(ValueError, match="checkpoint storage"):
            storage.from_string(bad, True)
