"""Checkpoint storage in a directory, and storage configurations."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from tests.contracts.storage_contract import Shelf, StorageContract, contents, source

from determined.common import storage
from determined.common.storage._files import matches_any
from determined.errors import CheckpointNotFound

__all__ = ["source"]


class TestDirectory(StorageContract):
    @pytest.fixture
    def shelf(self, base: pathlib.Path) -> Shelf:
        def write(name: str, content: bytes) -> None:
            (base / name).parent.mkdir(parents=True, exist_ok=True)
            (base / name).write_bytes(content)

        return Shelf(
            storage.DirectoryStorageManager(base),
            read=lambda name: (base / name).read_bytes(),
            write=write,
            remove=lambda name: (base / name).unlink(),
            names=lambda: sorted(contents(base)),
        )


@pytest.fixture
def base(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "base"


@pytest.fixture
def manager(base: pathlib.Path) -> storage.DirectoryStorageManager:
    return storage.DirectoryStorageManager(base)


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "tree"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "a.txt").write_text("12345")
    (folder / "deep" / "er" / "b.bin").write_bytes(b"1")
    return folder


def test_a_listing_has_sizes_and_marks_directories(tree: pathlib.Path) -> None:
    assert storage.list_directory(str(tree)) == {
        "a.txt": 5,
        "deep/": 0,
        "deep/er/": 0,
        "deep/er/b.bin": 1,
        "empty/": 0,
    }


def test_a_link_into_its_own_tree_does_not_make_a_listing_endless(tree: pathlib.Path) -> None:
    (tree / "deep" / "up").symlink_to(tree)
    assert len(storage.list_directory(str(tree))) == 6


def test_other_users_may_collect_what_this_one_stored(
    manager: storage.DirectoryStorageManager, tree: pathlib.Path
) -> None:
    manager.upload(tree, "one")
    with manager.store_path("two") as path:
        (path / "sub").mkdir()
    for name in ("one", "one/deep", "one/deep/er", "two", "two/sub"):
        assert os.stat(os.path.join(manager.base_path, name)).st_mode & 0o777 == 0o777


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


def test_the_storage_path_lies_below_the_shared_root() -> None:
    config = {"type": "shared_fs", "host_path": "/data", "storage_path": "ckpt"}
    assert storage.base_path(config, "/root") == "/root/ckpt"
    assert storage.base_path({**config, "storage_path": "/data/x"}, "/root") == "/root/x"
    assert storage.base_path({**config, "storage_path": None}, "/root") == "/root"
    for bad in ("../x", "/elsewhere"):
        with pytest.raises(ValueError, match="leads out of host_path"):
            storage.base_path({**config, "storage_path": bad}, "/root")


def test_an_unknown_type_is_named() -> None:
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


TWO_AT_ONCE = """
import os, sys
from determined.common.storage import remove_tree

def remove_first(event, args):
    if event == "os.remove" and not seen:
        seen.append(args)
        os.unlink(args[0], dir_fd=None if args[1] == -1 else args[1])

seen = []
sys.addaudithook(remove_first)
remove_tree(sys.argv[1])
"""


def test_a_tree_that_another_process_also_removes_is_removed(tmp_path: pathlib.Path) -> None:
    """One file is gone just before its turn; the other one who removed it is then killed."""
    tree = tmp_path / "tree"
    for name in ("a/1", "a/2", "b/3", "4"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    command = [sys.executable, "-c", TWO_AT_ONCE, str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert not tree.exists()


def test_two_that_delete_a_checkpoint_at_once_both_succeed(
    manager: storage.DirectoryStorageManager, tmp_path: pathlib.Path
) -> None:
    """As a task by the policy and one with the experiment do, on machines of their own."""
    folder = tmp_path / "many"
    for number in range(300):
        (folder / f"part-{number % 10}").mkdir(parents=True, exist_ok=True)
        (folder / f"part-{number % 10}" / f"{number}.bin").write_bytes(b"1")
    both = threading.Barrier(2)

    def delete(uuid: str) -> str:
        both.wait()
        try:
            return str(manager.clear(uuid, ["**/*"]))
        except CheckpointNotFound:
            return "it is gone"

    with ThreadPoolExecutor(2) as threads:
        for _ in range(20):
            uuid = str(uuid4())
            manager.upload(folder, uuid)
            said = set(threads.map(delete, [uuid, uuid]))
            assert said in ({"{}"}, {"{}", "it is gone"})
            assert not (pathlib.Path(manager.base_path) / uuid).exists()


def test_files_removed_during_a_listing_do_not_fail_a_deletion(
    manager: storage.DirectoryStorageManager,
    tree: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uuid = str(uuid4())
    manager.upload(tree, uuid)
    own = pathlib.Path(manager.base_path) / uuid

    with monkeypatch.context() as other:

        def scan_and_lose(path: str) -> list[os.DirEntry[str]]:
            other.undo()
            found = list(os.scandir(path))
            shutil.rmtree(own)
            return found

        other.setattr(os, "scandir", scan_and_lose)
        assert manager.clear(uuid, ["**/*"]) == {}
    assert not own.exists()
