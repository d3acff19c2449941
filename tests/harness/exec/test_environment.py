"""User and home directory in the environment of a task."""

from __future__ import annotations

import getpass
import os
import pathlib
import pwd

import pytest

from determined.exec._container import environment


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """An image whose accounts do not name the task's user."""

    def no_account(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", no_account)


@pytest.mark.usefixtures("unknown")
def test_a_user_without_account_in_the_image_gets_the_agents_name_and_home(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc").mkdir()
    line = f"ada:x:{os.getuid()}:7::/home/of/ada:/bin/bash\n"
    (tmp_path / "etc/passwd").write_text(line)
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path))
    env = {"HOME": "/"}
    environment._complete(env)
    assert (env["USER"], env["HOME"]) == ("ada", "/home/of/ada")
    for name in ("LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USER", env["USER"])
    assert getpass.getuser() == "ada"


@pytest.mark.usefixtures("unknown")
def test_without_any_account_it_is_a_number_in_the_work_directory(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    env: dict[str, str] = {}
    environment._complete(env)
    assert (env["USER"], env["HOME"]) == (str(os.getuid()), str(tmp_path))


def test_variables_of_the_image_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"HOME": "/home/image", "USER": "image"}
    environment._complete(env)
    assert (env["USER"], env["HOME"]) == ("image", "/home/image")
