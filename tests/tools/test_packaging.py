"""A wheel and an sdist carry the web UI that was built, and are refused without one."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.packaged_tree import write_packaged_tree

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

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
    made = write_packaged_tree(tmp_path_factory.mktemp("clone"))
    (made / "webui" / "node_modules").mkdir(parents=True)
    (made / "webui" / "package.json").write_text("{}")
    (made / "webui" / "node_modules" / "big.js").write_text("of a package")
    return made


def build(tree: Path, target: str, out: Path, **settings: str) -> subprocess.CompletedProcess[str]:
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
    environment = {**os.environ, **settings}
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, env=environment)


def built(tree: Path, target: str, out: Path, **settings: str) -> Path:
    done = build(tree, target, out, **settings)
    assert done.returncode == 0, done.stderr
    (found,) = out.iterdir()
    return found


def test_a_wheel_carries_it(tree: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(built(tree, "wheel", tmp_path)) as wheel:
        names = set(wheel.namelist())
    assert {f"{INSIDE}/{name}" for name in FILES} <= names
    assert "determined_master/api/webui/pages.py" in names
    assert "determined_deploy/kubernetes/chart/Chart.yaml" in names
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


@pytest.fixture
def bare(tree: Path) -> Iterator[Path]:
    """The clone before its web UI is built."""
    web_ui = tree / "src" / INSIDE
    aside = web_ui.rename(tree / "aside")
    yield tree
    aside.rename(web_ui)


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_without_a_web_ui_neither_is_built_and_the_remedy_is_named(
    bare: Path, target: str, tmp_path: Path
) -> None:
    refused = build(bare, target, tmp_path / "refused")
    assert refused.returncode != 0
    assert f"a master of this {target} would have none: run `make webui`" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not list((tmp_path / "refused").glob("*"))
    assert built(bare, target, tmp_path / "allowed", DET_MAY_LACK_WEB_UI="1").is_file()


def test_pip_prints_the_refusal(bare: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", ".")
    done = subprocess.run(
        (*command, "--wheel-dir", str(tmp_path)), cwd=bare, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "run `make webui` in a clone first" in done.stdout + done.stderr


def test_an_editable_installation_takes_a_web_ui_that_is_built_later(
    bare: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(built(bare, "wheel:editable", tmp_path)) as wheel:
        assert not [name for name in wheel.namelist() if name.startswith(INSIDE)]
