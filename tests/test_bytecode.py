"""Workers load the bytecode that is compiled before they start; the compilation runs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.bytecode import ROOT, compile_one, stale_sources

RUNS = """\
'''Leaves a file beside itself when it is run.'''
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
def test_it():
    assert Path
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("src/part/module.py", "tests/part/test_module.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(RUNS)
    return tmp_path


def test_compiled_sources_are_no_longer_stale_and_did_not_run(root: Path) -> None:
    stale = stale_sources(root)
    assert [path.name for path in stale] == ["module.py", "test_module.py"]
    for path in stale:
        compile_one(root, path)
    assert stale_sources(root) == []
    assert not list(root.rglob("*.ran"))
    [tested] = (root / "tests/part/__pycache__").iterdir()
    assert f"-pytest-{pytest.__version__}." in tested.name, "its assertions are rewritten"


def test_a_changed_source_is_stale(root: Path) -> None:
    for path in stale_sources(root):
        compile_one(root, path)
    changed = root / "src/part/module.py"
    changed.write_text(RUNS + "# longer\n")
    assert stale_sources(root) == [changed]


@pytest.mark.slow
def test_a_file_that_cannot_be_compiled_stops_no_other(root: Path) -> None:
    wrong = root / "src/part/a_wrong_one.py"
    wrong.write_text("def\n")
    call = "import pathlib, sys; from tests.bytecode import compile_stale as compile_all; "
    call += "compile_all(pathlib.Path(sys.argv[1]))"
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    subprocess.run([sys.executable, "-c", call, root], cwd=ROOT, env=env, check=True, timeout=60)
    assert stale_sources(root) == [wrong]
