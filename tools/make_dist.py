"""Makes the files of a release from the last commit: the same commit makes the same bytes.

python tools/make_dist.py [DIRECTORY]    into dist/ by default: sdist, wheel, chart, a bill of
                                         materials of each, and SHA256SUMS
    --ignore-untracked                   for tests: files that git does not know stop nothing
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from tools.lock_files import PYPROJECT, WHOLE, read_lock  # noqa: E402
from tools.make_sbom import bill_of  # noqa: E402
from tools.webui_errors import BuildError  # noqa: E402

from tools import build_webui  # noqa: E402

CHART = Path("deploy/helm/determined")
WEB_UI = Path("src/determined_master/webui")
SUMS = "SHA256SUMS"
TARGETS = ("sdist", "wheel")


class CannotRelease(Exception):
    """The checkout makes no release; the text has the reason and the remedy."""


class Commit(NamedTuple):
    """The commit of a release."""

    digest: str
    made_at: int
    """Seconds since 1970: the time that the files of the release have."""


def main() -> int:
    """Make the files and print them; the exit status."""
    parser = argparse.ArgumentParser(description="Make the files of a release.")
    parser.add_argument("directory", type=Path, nargs="?", default=ROOT / "dist")
    parser.add_argument("--ignore-untracked", action="store_true")
    args = parser.parse_args()
    try:
        build_webui.build(ROOT)
        commit = clean_commit(ROOT, is_untracked_ignored=args.ignore_untracked)
        paths = make(ROOT, commit, args.directory.resolve())
    except (BuildError, CannotRelease) as error:
        print(f"make_dist: {error}", file=sys.stderr)
        return 1
    print(f"made of commit {commit.digest[:12]}:")
    for path in paths:
        print(f"  {path.name:<60} {path.stat().st_size / 1e6:6.1f} MB")
    return 0


def clean_commit(root: Path, *, is_untracked_ignored: bool = False) -> Commit:
    """The last commit.

    Raises:
        CannotRelease: the checkout has changes that are not committed, or is none.
    """
    untracked = "no" if is_untracked_ignored else "normal"
    changes = _git(root, "status", "--porcelain", f"--untracked-files={untracked}")
    if changes:
        first = changes.splitlines()[0]
        raise CannotRelease(f"commit, ignore or remove what git status shows first: {first}")
    digest, made_at = _git(root, "log", "-1", "--format=%H %ct").split()
    return Commit(digest, int(made_at))


def make(root: Path, commit: Commit, directory: Path) -> list[Path]:
    """Make the files of a commit, in a directory that is emptied first.

    The web UI, which git does not have, is taken from the checkout as it was built.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="det-dist-") as scratch:
        tree = Path(scratch, "tree")
        _export(root, commit, tree)
        shutil.copytree(root / WEB_UI, tree / WEB_UI)
        for target in TARGETS:
            _build(tree, target, commit, directory)
        _pack_chart(tree / CHART, commit, directory)
        _write_bills(tree, directory)
    sums = "".join(f"{_digest(path)}  {path.name}\n" for path in sorted(directory.iterdir()))
    (directory / SUMS).write_text(sums)
    return sorted(directory.iterdir())


def _export(root: Path, commit: Commit, tree: Path) -> None:
    tree.mkdir()
    archive = subprocess.run(
        ["git", "-C", str(root), "archive", commit.digest], capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(tree, filter="data")


def _build(tree: Path, target: str, commit: Commit, directory: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(directory)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(commit.made_at)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise CannotRelease(f"hatchling made no {target}: {done.stderr.strip()[-1000:]}")


def _pack_chart(chart: Path, commit: Commit, directory: Path) -> None:
    """As `helm package`, whose archives have the time of their making."""
    described = YAML(typ="safe").load((chart / "Chart.yaml").read_text())
    path = directory / f"{described['name']}-{described['version']}.tgz"

    def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = commit.made_at
        entry.mode = 0o755 if entry.isdir() else 0o644
        return entry

    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=commit.made_at) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for inside in sorted(path for path in chart.rglob("*") if path.is_file()):
            name = f"{described['name']}/{inside.relative_to(chart).as_posix()}"
            archive.add(inside, name, recursive=False, filter=anonymous)


def _write_bills(tree: Path, directory: Path) -> None:
    version = tomllib.loads((tree / PYPROJECT).read_text())["project"]["version"]
    for path in sorted(directory.iterdir()):
        bill = bill_of(read_lock(WHOLE, tree), version)
        component = bill["metadata"]["component"]
        component["hashes"] = [{"alg": "SHA-256", "content": _digest(path)}]
        component["properties"] = [{"name": "determined:file", "value": path.name}]
        text = json.dumps(bill, indent=1)
        (directory / f"{path.name}.cdx.json").write_text(f"{text}\n")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise CannotRelease(f"git {arguments[0]}: {done.stderr.strip()}: take a clone")
    return done.stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
