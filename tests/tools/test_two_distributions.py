"""`import determined` names a distribution that has overwritten files, and the remedy."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUARD = ("_determined_platform.py", "determined_platform.pth")
REMEDY = "pip uninstall --yes determined determined-platform"


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """A distribution of a few files, as a file that pip installs."""
    file_name = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{file_name}-py3-none-any.whl"
    information = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in files.items():
            archive.writestr(inside, text)
        for inside, text in information.items():
            archive.writestr(f"{file_name}.dist-info/{inside}", text)
    return path


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    guard = {name: (ROOT / "src" / name).read_text() for name in GUARD}
    return wheel(
        tmp_path,
        "determined-platform",
        "1.0.0b1",
        {"determined/__init__.py": "MAKER = 'ours'\n", **guard},
    )


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return wheel(tmp_path, "determined", "0.38.1", {"determined/__init__.py": "MAKER = 'other'\n"})


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a new environment's Python, without what a developer's environment says."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)

    def python(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [tmp_path / "env/bin/python", *arguments],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin"},
        )

    return python


def install(tmp_path: Path, *wheels: Path) -> None:
    for path in wheels:
        command = [sys.executable, "-m", "pip", "--python", str(tmp_path / "env/bin/python")]
        command += ["install", "--quiet", "--no-deps", "--no-index", str(path)]
        subprocess.run(command, check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["ours, theirs", "theirs, ours"])
def test_the_import_names_both_and_the_remedy(
    order: str,
    ours: Path,
    theirs: Path,
    run: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    install(tmp_path, *({"ours": ours, "theirs": theirs}[name] for name in order.split(", ")))
    once = "try:\n  import determined\nexcept ImportError as error:\n  print(error)\n"
    twice = f"{once}import determined"
    outcome = run("-c", twice)
    assert outcome.returncode == 1
    assert "determined-platform and determined-0.38.1 are both installed in" in outcome.stdout
    assert REMEDY in outcome.stdout
    assert REMEDY in outcome.stderr
    assert run("-c", "import json").stderr == "", "other programs of that environment"


@pytest.mark.slow
def test_the_remedy_helps(
    ours: Path,
    theirs: Path,
    run: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    install(tmp_path, theirs, ours)
    command = [sys.executable, "-m", "pip", "--python", str(tmp_path / "env/bin/python")]
    subprocess.run([*command, *REMEDY.split()[1:]], check=True, capture_output=True)
    install(tmp_path, ours)
    outcome = run("-c", "import determined; print(determined.MAKER)")
    assert (outcome.stdout, outcome.stderr) == ("ours\n", "")
