"""The files of a release are made of the last commit, and twice the same."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.packaged_tree import write_packaged_tree
from tools.lock_files import WHOLE, path_of
from tools.make_dist import SUMS, WEB_UI, CannotRelease, clean_commit, make

from determined_deploy.kubernetes.helm import find_helm

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

NAMES = {
    *("determined-1.0.0-beta.1.tgz", "determined-1.0.0-beta.1.tgz.cdx.json", SUMS),
    *("determined_platform-1.0.0b1.tar.gz", "determined_platform-1.0.0b1.tar.gz.cdx.json"),
    "determined_platform-1.0.0b1-py3-none-any.whl",
    "determined_platform-1.0.0b1-py3-none-any.whl.cdx.json",
}
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main")


def git(root: Path, *arguments: str) -> None:
    subprocess.run([*GIT, "-C", str(root), *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository of what a wheel has, with a small web UI that git ignores."""
    root = write_packaged_tree(tmp_path_factory.mktemp("checkout"))
    lock = path_of(WHOLE, root)
    lock.parent.mkdir()
    shutil.copy(path_of(WHOLE), lock)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "a release")
    yield root
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def files(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    make(checkout, clean_commit(checkout), out)
    return out


def test_a_release_has_all_its_files_and_their_sums(files: Path) -> None:
    assert {path.name for path in files.iterdir()} == NAMES
    lines = (files / SUMS).read_text().splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    assert set(sums) == NAMES - {SUMS}
    for name, digest in sums.items():
        assert hashlib.sha256((files / name).read_bytes()).hexdigest() == digest
        if name.endswith(".cdx.json"):
            root = json.loads((files / name).read_text())["metadata"]["component"]
            assert root["hashes"][0]["content"] == sums[name.removesuffix(".cdx.json")]


def test_the_same_commit_makes_the_same_bytes(checkout: Path, files: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(checkout, "clone", "-q", str(checkout), str(clone))
    shutil.copytree(checkout / WEB_UI, clone / WEB_UI)
    make(clone, clean_commit(clone), tmp_path / "dist")
    assert (tmp_path / "dist" / SUMS).read_text() == (files / SUMS).read_text()


def test_the_wheel_has_everything_that_a_cluster_shows_and_deploys(files: Path) -> None:
    (wheel,) = files.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for name in (
        "determined_master/webui/index.html",
        "determined_master/documentation/tutorial.md",
        "determined_deploy/kubernetes/chart/Chart.yaml",
        "determined/cli/example_files/digits/train.py",
    ):
        assert name in names


def test_helm_reads_the_chart(files: Path) -> None:
    (chart,) = files.glob("*.tgz")
    done = subprocess.run(
        [str(find_helm()), "show", "chart", str(chart)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "appVersion: 1.0.0b1" in done.stdout
    with tarfile.open(chart) as archive:
        assert {entry.mode for entry in archive} == {0o644}
        assert all(entry.name.startswith("determined/") for entry in archive)


def test_changes_that_are_not_committed_are_named(checkout: Path) -> None:
    added = checkout / "src" / "secret.txt"
    added.write_text("x")
    with pytest.raises(CannotRelease, match=r"commit, ignore or remove .*src/secret.txt"):
        clean_commit(checkout)
    assert clean_commit(checkout, is_untracked_ignored=True)
    added.unlink()


def test_a_directory_that_is_no_clone_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRelease, match="take a clone"):
        clean_commit(tmp_path)
