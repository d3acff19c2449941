"""A wheel and an sdist carry the web UI that was built."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.web_ui_files import write_web_ui

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

ROOT = Path(__file__).parents[2]
INSIDE = "determined_master/webui"
FILES = (
    "index.html",
    "favicon.svg",
    "assets/index-1a2b3c4d.js",
    "assets/index-1a2b3c4d.js.br",
    "assets/index-1a2b3c4d.js.gz",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone, as far as packages need it, with a built web UI that git ignores."""
    made = tmp_path_factory.mktemp("clone")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, made)
    with (ROOT / "pyproject.toml").open("rb") as file:
        build = tomllib.load(file)["tool"]["hatch"]["build"]
    for name in build["targets"]["wheel"]["force-include"]:
        if (ROOT / name).is_dir():  # the files lie in src
            shutil.copytree(ROOT / name, made / name)
    shutil.copytree(
        ROOT / "src", made / "src", ignore=shutil.ignore_patterns("__pycache__", "webui")
    )
    shutil.copytree(
        ROOT / "src/determined_master/api/webui", made / "src/determined_master/api/webui"
    )
    write_web_ui(made / "src" / INSIDE)
    (made / "webui" / "node_modules").mkdir(parents=True)
    (made / "webui" / "package.json").write_text("{}")
    (made / "webui" / "node_modules" / "big.js").write_text("of a package")
    return made


def built(tree: Path, target: str, out: Path) -> Path:
    command: Sequence[str] = (
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        target,
        "-d",
        str(out),
    )
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (found,) = out.iterdir()
    return found


def test_a_wheel_carries_it(tree: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(built(tree, "wheel", tmp_path)) as wheel:
        names = set(wheel.namelist())
    assert {f"{INSIDE}/{name}" for name in FILES} <= names
    assert "determined_master/api/webui/pages.py" in names
    assert "determined/cli/deploy/kubernetes/chart/Chart.yaml" in names
    assert {"_determined_platform.py", "determined_platform.pth"} <= names
    assert not [name for name in names if "node_modules" in name]


def test_an_sdist_carries_it_and_so_does_a_wheel_of_the_sdist(tree: Path, tmp_path: Path) -> None:
    with tarfile.open(built(tree, "sdist", tmp_path / "sdist")) as sdist:
        sdist.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    for name in FILES:
        assert (unpacked / "src" / INSIDE / name).is_file(), name
    assert (unpacked / "webui" / "package.json").is_file()
    assert not (unpacked / "webui" / "node_modules").exists()
    with zipfile.ZipFile(built(unpacked, "wheel", tmp_path / "wheel")) as wheel:
        assert {f"{INSIDE}/{name}" for name in FILES} <= set(wheel.namelist())
