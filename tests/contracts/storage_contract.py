"""What every checkpoint storage must do; each has a test module that subclasses the suite.

A subclass gives a fixture `shelf` (see `Shelf`) and is marked for what it needs.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
from collections.abc import Callable

import pytest

from determined.common import storage
from determined.errors import CheckpointCorrupted, CheckpointNotFound

FILES = {
    "a.txt": b"12345",
    "deep/er/b.bin": b"1",
    "deep/ünï #1 [x]*?.bin": b"name",
    "100%": b"",
    "large": os.urandom(300_000),
}


class Shelf:
    """A storage, and ways around it: what lies there, and laying something there."""

    def __init__(
        self,
        manager: storage.StorageManager,
        read: Callable[[str], bytes],
        write: Callable[[str, bytes], None],
        remove: Callable[[str], None],
        names: Callable[[], list[str]],
    ) -> None:
        self.manager = manager
        self.read = read
        self.write = write
        self.remove = remove
        self.names = names

    def store(self, uuid: str, source: pathlib.Path) -> storage.Manifest:
        """Upload a directory as the harness does."""
        files = self.manager.upload(source, uuid)
        manifest = storage.manifest_of(files, storage.list_directory(str(source)))
        self.manager.seal(uuid, manifest)
        return manifest


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    """A directory of files with an empty directory in it."""
    folder = tmp_path / "source"
    (folder / "empty").mkdir(parents=True)
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


SIZES = {**{name: len(content) for name, content in FILES.items()}, "deep/": 0, "deep/er/": 0}


class StorageContract:
    """The suite."""

    def test_stored_values_are_read_back(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        moved: list[int] = []
        shelf.manager.upload(source, "one", progress=moved.append)
        assert sum(moved) == sum(SIZES.values())
        shelf.store("one", source)
        assert shelf.manager.list_paths("one") == {**SIZES, "empty/": 0}
        moved.clear()
        shelf.manager.download("one", tmp_path / "back", progress=moved.append)
        assert sum(moved) == sum(SIZES.values())
        assert contents(tmp_path / "back") == FILES
        assert (tmp_path / "back" / "empty").is_dir()
        with shelf.manager.restore_path("one") as path:
            assert {n: c for n, c in contents(path).items() if n in FILES} == FILES

    def test_the_manifest_holds_sizes_and_hashes(self, shelf: Shelf, source: pathlib.Path) -> None:
        shelf.store("one", source)
        manifest = shelf.manager.manifest("one")
        assert manifest is not None
        assert manifest.sizes() == {**SIZES, "empty/": 0}
        digest = hashlib.sha256(FILES["large"]).hexdigest()
        assert manifest.files["large"] == (len(FILES["large"]), digest)

    def test_a_large_file_goes_and_comes_in_parts(
        self, shelf: Shelf, tmp_path: pathlib.Path
    ) -> None:
        content = os.urandom(1 << 20) * 40 + b"end"
        (tmp_path / "source").mkdir()
        (tmp_path / "source" / "weights").write_bytes(content)
        manifest = shelf.store("one", tmp_path / "source")
        assert manifest.files["weights"].sha256 == hashlib.sha256(content).hexdigest()
        shelf.manager.download("one", tmp_path / "back")
        assert contents(tmp_path / "back") == {"weights": content}

    def test_a_selector_and_paths_choose(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        files = shelf.manager.upload(source, "one", ["a.txt", "deep/", "deep/er/b.bin"])
        assert sorted(files) == ["a.txt", "deep/er/b.bin"]
        shelf.manager.seal("one", storage.manifest_of(files, {}))
        shelf.manager.download("one", tmp_path / "part", lambda path: path.endswith(".bin"))
        assert contents(tmp_path / "part") == {"deep/er/b.bin": b"1"}

    def test_two_uploads_make_one_checkpoint(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        files = shelf.manager.upload(source, "one", ["a.txt"])
        files.update(shelf.manager.upload(source, "one", ["deep/er/b.bin"]))
        shelf.manager.seal("one", storage.manifest_of(files, {}))
        shelf.manager.download("one", tmp_path / "back")
        assert sorted(contents(tmp_path / "back")) == ["a.txt", "deep/er/b.bin"]

    def test_a_checkpoint_of_an_older_harness_is_read_as_it_is(
        self, shelf: Shelf, tmp_path: pathlib.Path
    ) -> None:
        shelf.write("old/weights", b"123")
        shelf.write("old/code/model.py", b"x = 1\n")
        shelf.write("old/metadata.json", b"{}")
        assert shelf.manager.manifest("old") is None
        sizes = {"code/": 0, "code/model.py": 6, "metadata.json": 2, "weights": 3}
        assert shelf.manager.list_paths("old") == sizes
        shelf.manager.download("old", tmp_path / "back")
        assert contents(tmp_path / "back")["weights"] == b"123"
        assert shelf.manager.delete("old", ["code/**"]) == {"metadata.json": 2, "weights": 3}
        assert shelf.manager.delete("old", ["**/*"]) == {}
        assert shelf.names() == []

    def test_a_file_that_changed_is_named_with_both_hashes(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        shelf.store("one", source)
        shelf.write("one/a.txt", b"1234x")
        good, bad = (hashlib.sha256(c).hexdigest() for c in (b"12345", b"1234x"))
        with pytest.raises(CheckpointCorrupted, match=rf"one .* a\.txt .*{good}.*{bad}"):
            shelf.manager.download("one", tmp_path / "back")
        assert not (tmp_path / "back" / "a.txt").exists()
        shelf.manager.download("one", tmp_path / "other", lambda path: path == "100%")
        shelf.manager.download("one", tmp_path / "raw", verify=False)
        assert contents(tmp_path / "raw")["a.txt"] == b"1234x"

    def test_a_file_that_is_missing_or_cut_is_named(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        shelf.store("one", source)
        shelf.write("one/large", FILES["large"][:-1])
        with pytest.raises(CheckpointCorrupted, match=r"large has 299999 bytes"):
            shelf.manager.download("one", tmp_path / "back")
        shelf.remove("one/large")
        with pytest.raises(CheckpointCorrupted, match=r"large .*is missing"):
            shelf.manager.download("one", tmp_path / "back")
        assert not (tmp_path / "back").exists()

    def test_a_broken_manifest_is_named(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        shelf.store("one", source)
        shelf.write("one.manifest.json", b'{"version": 1')
        with pytest.raises(CheckpointCorrupted, match="manifest"):
            shelf.manager.download("one", tmp_path / "back")
        shelf.write("one.manifest.json", b'{"version": 2}')
        shelf.manager.download("one", tmp_path / "back")
        shelf.write("one.manifest.json", b"")
        assert shelf.manager.delete("one", ["**/*"]) == {}
        assert shelf.names() == []

    def test_deleting_by_pattern_leaves_a_whole_rest(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        shelf.store("one", source)
        left = {"a.txt": 5, "100%": 0, "large": len(FILES["large"])}
        assert shelf.manager.delete("one", ["**/*.bin"]) == left
        assert shelf.manager.delete("one", ["**/*.bin"]) == left
        assert shelf.manager.delete("one", []) == left
        shelf.manager.download("one", tmp_path / "back")
        assert sorted(contents(tmp_path / "back")) == sorted(left)

    def test_a_whole_checkpoint_is_deleted_without_a_trace(
        self, shelf: Shelf, source: pathlib.Path
    ) -> None:
        shelf.store("one", source)
        shelf.store("two", source)
        assert shelf.manager.delete("one", ["**/*"]) == {}
        assert shelf.names()
        assert all(name.startswith("two") for name in shelf.names())
        with pytest.raises(CheckpointNotFound, match="one"):
            shelf.manager.delete("one", ["**/*"])
        with pytest.raises(CheckpointNotFound, match="one"):
            shelf.manager.list_paths("one")

    def test_a_deletion_that_was_cut_short_is_repeated(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        shelf.store("one", source)
        for name in FILES:
            shelf.remove(f"one/{name}")
            with pytest.raises((CheckpointCorrupted, CheckpointNotFound), match="one"):
                shelf.manager.download("one", tmp_path / "back")
        assert shelf.manager.delete("one", ["**/*"]) == {}
        assert shelf.names() == []

    @pytest.mark.parametrize("has_manifest", [True, False])
    def test_a_cleared_checkpoint_is_known_until_it_is_forgotten(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path, has_manifest: bool
    ) -> None:
        """Whoever clears it again is not told that it was never there."""
        shelf.store("one", source)
        if not has_manifest:
            shelf.remove("one.manifest.json")
        assert shelf.manager.clear("one", ["**/*"]) == {}
        assert shelf.names() == ["one.manifest.json"]
        with pytest.raises((CheckpointCorrupted, CheckpointNotFound), match="one"):
            shelf.manager.download("one", tmp_path / "back")
        assert shelf.manager.clear("one", ["**/*"]) == {}
        shelf.manager.forget("one")
        shelf.manager.forget("one")
        assert shelf.names() == []
        with pytest.raises(CheckpointNotFound, match="one"):
            shelf.manager.clear("one", ["**/*"])

    def test_a_path_to_write_into_is_a_checkpoint_once_it_is_left(self, shelf: Shelf) -> None:
        with shelf.manager.store_path("one") as path:
            (path / "sub").mkdir()
            (path / "sub" / "file").write_bytes(b"12")
        assert shelf.manager.list_paths("one") == {"sub/": 0, "sub/file": 2}
        manifest = shelf.manager.manifest("one")
        assert manifest is not None
        assert manifest.sizes() == {"sub/": 0, "sub/file": 2}

    def test_a_block_that_raises_leaves_nothing(self, shelf: Shelf) -> None:
        def write() -> None:
            with shelf.manager.store_path("one") as path:
                (path / "file").write_bytes(b"12")
                raise RuntimeError("in the middle")

        with pytest.raises(RuntimeError, match="in the middle"):
            write()
        assert shelf.names() == []

    def test_a_local_file_that_is_gone_is_no_fault_of_the_storage(
        self, shelf: Shelf, source: pathlib.Path
    ) -> None:
        with pytest.raises(FileNotFoundError):
            shelf.manager.upload(source, "one", ["a.txt", "nothing"])

    def test_a_transfer_that_is_interrupted_ends_with_all_its_files(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        def interrupt(_: int) -> None:
            raise LookupError("by a test")

        shelf.store("one", source)
        with pytest.raises(LookupError, match="by a test"):
            shelf.manager.download("one", tmp_path / "back", progress=interrupt)
        assert set(contents(tmp_path / "back")) <= {"100%"}, "only what has no bytes to tell of"
        with pytest.raises(LookupError, match="by a test"):
            shelf.manager.upload(source, "two", progress=interrupt)

    def test_files_beside_checkpoints(self, shelf: Shelf, source: pathlib.Path) -> None:
        for trial in ("3", "33"):
            path = f"c/tensorboard/experiment/1/trial/{trial}/events"
            shelf.manager.upload_file(source / "a.txt", path)
            assert shelf.read(path) == b"12345"
        shelf.manager.delete_below("c/tensorboard/experiment/1/trial/3")
        assert shelf.names() == ["c/tensorboard/experiment/1/trial/33/events"]
        shelf.manager.delete_below("c/tensorboard/experiment/1/trial/3")

    def test_files_beside_checkpoints_are_listed_and_fetched(
        self, shelf: Shelf, source: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        below = "c/tensorboard/experiment/1/trial/3"
        assert shelf.manager.sizes_below(below) == {}
        for name in ("events", "plugins/profile/x"):
            shelf.manager.upload_file(source / "a.txt", f"{below}/{name}")
        shelf.manager.upload_file(source / "a.txt", f"{below}3/events")
        found = shelf.manager.sizes_below(below)
        assert found == {"events": 5, "plugins/profile/x": 5}
        target = tmp_path / "new" / "events"
        for _ in range(2):  # the second takes the first one's place
            shelf.manager.download_file(f"{below}/events", target, 5)
            assert target.read_bytes() == b"12345"
        with pytest.raises(OSError, match="nothing"):
            shelf.manager.download_file(f"{below}/nothing", target, 5)
        assert contents(target.parent) == {"events": b"12345"}, "what was there stays"

    def test_validation_leaves_nothing(self, shelf: Shelf) -> None:
        shelf.manager.validate()
        assert shelf.names() == []

    @pytest.mark.parametrize("uuid", ["", "..", "a/b", "/etc"])
    def test_a_uuid_cannot_lead_elsewhere(self, shelf: Shelf, uuid: str) -> None:
        with pytest.raises(ValueError, match="not a checkpoint's UUID"):
            shelf.manager.delete(uuid, ["**/*"])
