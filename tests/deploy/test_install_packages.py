"""The packages of an image: only files with the locked hashes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from tools.lock_files import ROOT, path_of

from determined_wire.locked import FILE, requirements


@pytest.mark.parametrize("arguments", [(), ("agent",), ("driver", "/tmp/x")])
def test_the_installer_of_images_names_what_it_lacks(arguments: tuple[str, ...]) -> None:
    script = ROOT / "deploy" / "install-packages"
    done = subprocess.run(
        ["sh", str(script), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "deploy/install-packages" in done.stderr
    assert "DIRECTORY" in done.stderr


def wheel(folder: Path) -> str:
    """A package of nothing, as a file that pip installs; returns the file's hash."""
    path = folder / "tiny-1.0-py3-none-any.whl"
    entries = {
        "tiny.py": "",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
        "tiny-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_an_image_takes_no_file_with_another_hash_than_the_locked_one(tmp_path: Path) -> None:
    """The installer of images, without a network, with one package in its locks."""
    shutil.copytree(ROOT / "deploy", tmp_path / "source" / "deploy")
    (tmp_path / "source" / "requirements").mkdir()
    right = wheel(tmp_path)
    for name in ("install", "build"):
        path_of(name, tmp_path / "source").write_text(f"tiny==1.0 --hash=sha256:{right}\n")
    wire = tmp_path / "source" / "src" / "determined_wire"
    wire.mkdir(parents=True)
    for name in ("__init__.py", "locked.py"):
        shutil.copy(ROOT / "src" / "determined_wire" / name, wire)
    (wire / FILE).write_text(f"agent\ttiny==1.0 --hash=sha256:{'0' * 64}\n")
    environment = {key: text for key, text in os.environ.items() if not key.startswith("PIP_")}
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    target = tmp_path / "packages"
    done = subprocess.run(
        ["sh", str(tmp_path / "source" / "deploy" / "install-packages"), "agent", str(target)],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, **offline, "PYTHON": sys.executable},
    )
    assert done.returncode == 1
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
    assert not (target / "tiny.py").exists()


@pytest.mark.parametrize("part", ["agent", "master"])
def test_an_image_has_all_that_boto3_and_google_auth_need(part: str) -> None:
    script = (ROOT / "deploy" / "install-packages").read_text()
    assert 'determined_wire.locked base "$part" aws gcp' in script
    lines = requirements(["base", part, "aws", "gcp"]).splitlines()
    assert _needed("boto3") | _needed("google-auth") <= {line.partition("==")[0] for line in lines}


def _needed(name: str) -> set[str]:
    """A package and what it needs, without its extras."""
    found = {name}
    for requirement in metadata.requires(name) or ():
        if "extra ==" not in requirement:
            found |= _needed(re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower())
    return found
