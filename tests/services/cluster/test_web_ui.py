"""Which files of the web UI a master has."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.web_ui_files import SCRIPT, STYLE, write_web_ui

from determined_master.services.cluster import web_ui
from determined_master.services.cluster.web_ui import WebUi

SCRIPT_NAME = "assets/index-1a2b3c4d.js"


@pytest.fixture(autouse=True)
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's directory, which a test may fill."""
    directory = tmp_path / "package" / "webui"
    monkeypatch.setattr(web_ui, "PACKAGED", directory)
    return directory


def test_the_files_of_the_package_are_served(packaged: Path) -> None:
    write_web_ui(packaged)
    made = WebUi()
    assert made.is_installed
    assert made.directory == packaged
    script = made.find(SCRIPT_NAME)
    assert script is not None
    assert (script.content, list(script.encoded)) == (SCRIPT, ["br", "gzip"])


def test_without_files_it_is_not_installed() -> None:
    made = WebUi()
    assert not made.is_installed
    assert made.find(SCRIPT_NAME) is None


def test_files_without_a_page_are_not_served(packaged: Path) -> None:
    (write_web_ui(packaged) / "index.html").unlink()
    made = WebUi()
    assert not made.is_installed
    assert made.find(SCRIPT_NAME) is None


def test_the_setting_root_names_other_files(packaged: Path, tmp_path: Path) -> None:
    write_web_ui(packaged)
    style = write_web_ui(tmp_path / "other" / "webui") / "assets" / "index-5e6f7a8b.css"
    style.write_bytes(b"another")
    found = WebUi(str(tmp_path / "other")).find("assets/index-5e6f7a8b.css")
    assert found is not None
    assert found.content == b"another" != STYLE


def test_a_root_without_a_web_ui_is_reported_and_the_package_serves(
    packaged: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_web_ui(packaged)
    with caplog.at_level(logging.WARNING):
        made = WebUi(str(tmp_path))
    assert made.is_installed
    assert str(tmp_path / "webui" / "index.html") in caplog.text
    assert "remove the setting" in caplog.text


def test_hidden_files_other_types_and_links_outward_are_no_files_of_it(
    packaged: Path, tmp_path: Path
) -> None:
    write_web_ui(packaged)
    (tmp_path / "outside.js").write_text("outside")
    (packaged / "assets" / "outside.js").symlink_to(tmp_path / "outside.js")
    (packaged / "assets" / "inside.js").symlink_to(packaged / SCRIPT_NAME)
    (packaged / ".git").mkdir()
    (packaged / ".git" / "a.js").write_text("hidden")
    made = WebUi()
    for name in (".hash", "notes.secret", "assets/outside.js", ".git/a.js", f"{SCRIPT_NAME}.br"):
        assert made.find(name) is None, name
    assert made.find("assets/inside.js") is not None
