"""The files of a shell's ssh server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.covers import covers

from determined.exec import shell
from determined.exec._log import EntryFailed
from determined.exec._servers import terminals


@covers("task-contract 3.9.environment 3.9.escapes")
def test_every_key_gives_its_session_the_environment() -> None:
    env = {"A": 'say "x"', "B": "1\n2", "PATH": "/bin", "TERM": "xterm", "LC_ALL": "C", "_": "x"}
    options = 'environment="A=say \\"x\\"",environment="B=1\\n2",environment="PATH=/bin",'
    options += 'environment="DET_PATH=/bin"'
    keys = "# ours\nssh-ed25519 AAAA one\n\nssh-rsa BBBB\n"
    assert shell.authorized_keys(keys, env) == (
        f"{options} ssh-ed25519 AAAA one\n{options} ssh-rsa BBBB\n"
    )


@covers("task-contract 3.9.left_out")
@pytest.mark.parametrize("name", ["a%%", "BASH_FUNC_x()", "", "é", "a b"])
def test_a_name_that_ssh_refuses_is_left_out(name: str) -> None:
    assert shell.session_variables({name: "x", "OK_1": "y"}).keys() == {"OK_1", "DET_PATH"}


def test_a_value_that_would_swallow_its_quote_is_left_out() -> None:
    assert "A" not in shell.session_variables({"A": "x\\"})


def test_the_configuration_follows_the_run_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "HostKey /run/determined/ssh/id_rsa\nStrictModes yes\n"
    assert shell.placed(text) == text
    monkeypatch.setenv("DET_RUN_DIR", "/tmp/run")
    assert shell.placed(text) == "HostKey /tmp/run/ssh/id_rsa\nStrictModes no\n"


def test_without_terminals_the_login_banner_has_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    banner = tmp_path / "banner"
    monkeypatch.setattr(terminals, "are_given", lambda: True)
    assert shell.with_terminals("Port 1\n", str(banner)) == "Port 1\n"
    assert not banner.exists()
    monkeypatch.setattr(terminals, "are_given", lambda: False)
    config = shell.with_terminals("Port 1\n", str(banner))
    assert config == f"PermitTTY no\nBanner {banner}\nPort 1\n"
    assert "log in without one (ssh -T)" in banner.read_text()
    assert banner.read_text() in "".join(capsys.readouterr())


def test_a_user_without_account_in_the_image_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 765432)
    with pytest.raises(EntryFailed, match="has no user with id 765432"):
        shell.check_account()


def test_the_port_is_required() -> None:
    with pytest.raises(EntryFailed, match="the port to listen on"):
        shell.run(None, {}, ["here"])  # type: ignore[arg-type]  # not reached
