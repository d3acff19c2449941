"""The token cache keeps all logins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from determined.common.api import authentication, errors

WRITER = """
import sys, pathlib
from determined.common.api import authentication
store = authentication.TokenStore("http://h:1", pathlib.Path(sys.argv[1]))
for number in range(20):
    store.set_token(f"user-{sys.argv[2]}-{number}", "t")
"""


def test_commands_that_log_in_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "auth.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(file), str(number)], env=environment)
        for number in range(4)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    assert len(authentication.TokenStore("http://h:1", file).users()) == 80
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".new")] == []


def test_masters_are_kept_apart_and_an_address_has_one_form(tmp_path: Path) -> None:
    file = tmp_path / "auth.json"
    authentication.TokenStore("localhost", file).set_token("a", "one")
    authentication.TokenStore("http://other:8080", file).set_token("a", "two")
    assert authentication.TokenStore("http://localhost:8080/", file).token_of("a") == "one"
    assert sorted(json.loads(file.read_text())["masters"]) == [
        "http://localhost:8080",
        "http://other:8080",
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"masters": 3}', "\x00"])
def test_an_invalid_token_cache_is_renamed_with_a_remedy(tmp_path: Path, text: str) -> None:
    file = tmp_path / "auth.json"
    file.write_text(text)
    store = authentication.TokenStore("h", file)
    with pytest.raises(errors.CorruptTokenCacheException, match="det user login"):
        store.token_of("a")
    assert (tmp_path / "auth.json.corrupt").read_text() == text
    store.set_token("a", "t")
    assert store.active_user == "a"


def test_dropping_the_active_user_leaves_no_active_user(tmp_path: Path) -> None:
    store = authentication.TokenStore("h", tmp_path / "auth.json")
    store.set_token("a", "1")
    store.set_token("b", "2", is_active=False)
    store.drop_user("a")
    assert (store.active_user, store.users()) == (None, ["b"])


def test_an_empty_password_stays_empty() -> None:
    assert authentication.salt_and_hash("") == ""
