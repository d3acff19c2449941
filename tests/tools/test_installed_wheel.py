"""Wheels and images of an installation carry its web UI, documentation and chart."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.web_ui_files import write_web_ui

from determined.cli import errors
from determined_deploy.cloud.wheel import build_wheel
from determined_wire import wheel

ROOT = Path(__file__).parents[2]


def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_web_ui: bool) -> Path:
    """A small one, whose packages are imported in place of ours."""
    root = tmp_path / "checkout"
    for package in wheel.EVERYTHING:
        (root / "src" / package).mkdir(parents=True)
        (root / "src" / package / "__init__.py").write_text("")
    for source in ("docs", "examples", "deploy/helm/determined"):
        (root / source).mkdir(parents=True)
        (root / source / "one.md").write_text(source)
    if has_web_ui:
        write_web_ui(root / "src/determined_master/webui")

    class Spec:
        def __init__(self, name: str) -> None:
            self.submodule_search_locations = [str(root / "src" / name)]

    monkeypatch.setattr(wheel.importlib.util, "find_spec", Spec)
    return root


def test_a_wheel_of_an_editable_installation_has_all_that_a_built_one_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout(tmp_path, monkeypatch, has_web_ui=True)
    made = wheel.build(wheel.EVERYTHING)
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        names = set(archive.namelist())
    assert {
        "determined_master/documentation/one.md",
        "determined_master/webui/index.html",
        "determined_deploy/kubernetes/chart/one.md",
        "determined/cli/example_files/one.md",
    } <= names


def test_the_directories_of_a_checkout_are_those_of_the_build() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    forced = build["targets"]["wheel"]["force-include"]
    assert {name: place for name, place in forced.items() if (ROOT / name).is_dir()} == {
        source: f"{package}/{place}"
        for package, places in wheel.FROM_CHECKOUT.items()
        for place, source in places.items()
    }


def test_a_wheel_of_an_installation_without_a_web_ui_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout(tmp_path, monkeypatch, has_web_ui=False)
    with pytest.raises(wheel.NotInstalledError, match=r"no web UI.*run `make webui` in the chec"):
        wheel.build(wheel.EVERYTHING)
    assert wheel.build(wheel.AGENT).content  # agents need none
    assert wheel.build(wheel.EVERYTHING, may_lack_web_ui=True).content


def test_up_prints_the_refusal_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho 'this installation has no web UI: do so' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(errors.CliError) as caught:
        build_wheel(str(tmp_path))
    assert str(caught.value) == (
        "no wheel can be made of this installation: this installation has no web UI: do so"
    )


@pytest.mark.parametrize("command", ["build-image master name:1", "images/build master ROOT"])
def test_an_image_of_a_master_without_a_web_ui_is_refused_with_the_remedy(
    command: str, tmp_path: Path
) -> None:
    if command.startswith("images") and os.getuid() != 0:
        pytest.skip("deploy/images/build needs root")
    (tmp_path / "packages" / "determined_master").mkdir(parents=True)
    (tmp_path / "root" / "usr" / "bin").mkdir(parents=True)
    apt = tmp_path / "root" / "usr" / "bin" / "apt-get"
    apt.write_text("")
    apt.chmod(0o755)
    words = command.replace("ROOT", str(tmp_path / "root")).split()
    done = subprocess.run(
        [str(ROOT / "deploy" / words[0]), *words[1:]],
        env={"PATH": os.environ["PATH"], "PACKAGES": str(tmp_path / "packages")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "has no web UI, so the master would have none: run make webui in this" in done.stderr


@pytest.mark.parametrize("script", ["build-image", "images/build"])
def test_images_are_built_of_all_that_the_build_takes(script: str) -> None:
    """pip ends with an error where a directory of `force-include` is not there."""
    text = (ROOT / "deploy" / script).read_text()
    (packed,) = re.findall(r"tar -cf - (.*?)\)", text)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    sources = build["targets"]["wheel"]["force-include"]
    assert {name.partition("/")[0] for name in sources} <= set(packed.split())
