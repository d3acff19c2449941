"""Trees that are kept between runs, and made again when what makes them has changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.kept_trees import directory, packed_tree, unpack

ROOT = Path(__file__).parents[1]
MONTH_S = 31 * 24 * 3600


class Maker:
    """Makes a tree of one file, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, tree: Path) -> None:
        self.count += 1
        tree.mkdir()
        (tree / "file").write_text(str(self.count))
        (tree / "file").chmod(0o4750)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("BARE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_tree_is_made_once_and_again_when_what_makes_it_changes(tmp_path: Path) -> None:
    make = Maker()
    for at, made_by in enumerate((["a", "b"], ["a", "b"], ["ab"], ["a", "b"])):
        unpack(packed_tree("kind", made_by, make), tmp_path / str(at))
    assert [(tmp_path / str(at) / "file").read_text() for at in range(4)] == ["1", "1", "2", "1"]
    assert (tmp_path / "1/file").stat().st_mode & 0o7777 == 0o4750


def test_a_tree_that_could_not_be_made_is_not_kept(cache: Path) -> None:
    def fail(tree: Path) -> None:
        tree.mkdir()
        raise RuntimeError("the network is down")

    with pytest.raises(RuntimeError, match="the network is down"):
        packed_tree("kind", ["a"], fail)
    assert list(cache.glob("kind-*")) == []
    packed_tree("kind", ["a"], Maker())


def test_an_archive_that_nobody_has_used_for_a_month_is_removed(cache: Path) -> None:
    packed_tree("kind", ["old"], Maker())
    packed_tree("other", ["old"], Maker())
    for path in cache.glob("*.tar"):
        os.utime(path, (path.stat().st_mtime - MONTH_S,) * 2)
    packed_tree("kind", ["new"], Maker())
    assert sorted(path.name.partition("-")[0] for path in cache.glob("*.tar")) == ["kind", "other"]


def test_trees_stay_in_the_accounts_cache_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BARE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/a")
    assert directory() == Path("/home/a/.cache/determined-tests")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert directory() == Path("/caches/determined-tests")
    script = (ROOT / "tests/bare_root.sh").read_text()
    line = next(line for line in script.splitlines() if line.startswith("cache="))
    said = subprocess.check_output(["bash", "-c", f"{line}; echo $cache"], text=True)
    assert said == "/caches/determined-tests\n"
