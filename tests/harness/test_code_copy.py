"""The code in the checkpoints of a script off the cluster."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from determined import _code_copy, util


def write(place: Path, *names: str) -> None:
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(name)


def copied(target: Path) -> list[str]:
    return sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "script"
    write(place, "train.py", "part/model.py", ".env", "data/images.bin")
    monkeypatch.chdir(place)
    return place


def test_code_is_copied_without_environments_caches_and_ignored_files(
    script: Path, tmp_path: Path
) -> None:
    write(script, "venv/pyvenv.cfg", "venv/lib/big.py", ".cache/x", "part/__pycache__/model.pyc")
    write(script, "node_modules/a.js", ".git/HEAD", ".detignore")
    (script / ".detignore").write_text("data/\n")
    (script / "link").symlink_to("/etc")
    util.write_user_code(tmp_path / "checkpoint", on_cluster=False)
    assert copied(tmp_path / "checkpoint/code") == [".env", "part/model.py", "train.py"]
    write(script, "later.py")
    util.write_user_code(tmp_path / "checkpoint", on_cluster=False)
    assert "later.py" not in copied(tmp_path / "checkpoint/code")  # it is there already


@pytest.mark.parametrize("limit", ["bytes", "files"])
def test_above_a_limit_nothing_is_copied_with_one_warning(
    script: Path,
    tmp_path: Path,
    limit: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if limit == "files":
        monkeypatch.setattr(_code_copy, "MAX_FILES", 3)
    limit_bytes = 20 if limit == "bytes" else 1 << 20
    with caplog.at_level(logging.WARNING, logger="determined"):
        for n in range(2):
            _code_copy.copy_code(script, tmp_path / f"code-{n}", limit_bytes)
            assert not (tmp_path / f"code-{n}").exists()
    [record] = caplog.records
    assert "checkpoints are stored without code" in record.getMessage()
    assert ".detignore" in record.getMessage()
    _code_copy.copy_code(script, tmp_path / "all", 1 << 30)
    assert len(copied(tmp_path / "all")) == (4 if limit == "bytes" else 0)


def test_an_ignore_file_that_cannot_be_read_is_named(
    script: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (script / ".detignore").write_bytes(b"\xff\xfe\xff")
    with caplog.at_level(logging.WARNING, logger="determined"):
        _code_copy.copy_code(script, tmp_path / "code")
    assert ".detignore" in caplog.text
    assert "train.py" in copied(tmp_path / "code")
