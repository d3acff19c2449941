"""`det` refuses in words what it cannot use of its own files and of those that variables name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.certificates import Authority
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

FUZZ = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
NAMES = st.sampled_from(["masters", "tokens", "active_user", "version", "determined", "MASTER"])
TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), NAMES, st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=4)
    ),
    max_leaves=6,
)


def write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, master: FakeMaster) -> FakeMaster:
    """A master to which no variable has a login."""
    for name in ("DET_USER", "DET_PASS"):
        monkeypatch.delenv(name)
    return master


@FUZZ
@given(tree=TREES, entry=TREES, command=st.sampled_from(["list", "login", "logout"]))
def test_any_file_of_logins_is_used_or_refused_by_name(
    det: Det, nobody: FakeMaster, home: Path, tree: Any, entry: Any, command: str
) -> None:
    if not isinstance(tree, dict) or tree.get("masters") == {}:
        tree = {"masters": {nobody.url: entry}}
    text = json.dumps(tree).replace('"MASTER"', json.dumps(nobody.url))
    write(home / "config/determined/auth.json", text.encode())
    words = {
        "list": ("e", "list"),
        "login": ("user", "login", "determined"),
        "logout": ("user", "logout"),
    }[command]
    outcome = det(*words, stdin="")
    assert outcome.status in (0, 1)
    assert outcome.status == 0 or outcome.err.startswith(("Failed to ", "Unauthenticated"))


@FUZZ
@given(content=st.binary(max_size=60))
def test_any_bytes_as_file_of_logins_are_refused_by_name(
    det: Det, nobody: FakeMaster, home: Path, content: bytes
) -> None:
    write(home / "config/determined/auth.json", content)
    outcome = det("e", "list")
    assert outcome.status == 1
    assert "auth.json" in outcome.err or "nobody is logged in" in outcome.err


@FUZZ
@given(cut=st.integers(0, 700), garbage=st.binary(max_size=20), is_accepted=st.booleans())
def test_any_file_of_a_certificate_is_used_or_refused_by_name(
    det: Det,
    nobody: FakeMaster,
    home: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    cut: int,
    garbage: bytes,
    is_accepted: bool,
) -> None:
    pem = Authority(tmp_path_factory.mktemp("ca")).pem
    address = "https://127.0.0.1:1"
    file = home / "given.pem"
    if is_accepted:
        file = home / "config/determined/certificates/127.0.0.1_1.pem"
    write(file, pem[:cut] + garbage + pem[cut:])
    with monkeypatch.context() as patch:
        patch.setenv("DET_MASTER", address)
        if not is_accepted:
            patch.setenv("DET_MASTER_CERT_FILE", str(file))
        outcome = det("e", "list")
    assert outcome.status == 1
    assert file.name in outcome.err or "logged in" in outcome.err or "127.0.0.1:1" in outcome.err


@FUZZ
@given(address=st.text("htps:/@.[]#?%019é \t", max_size=16))
def test_any_address_of_the_master_is_used_or_refused_in_words(
    det: Det, home: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("DET_MASTER", address or "http://127.0.0.1:1")
        outcome = det("e", "list")
    assert outcome.status == 1
    assert outcome.err.startswith(("Failed to ", "Unauthenticated"))


@pytest.mark.parametrize("kind", ["auth.json", "given.pem"])
def test_a_directory_in_the_place_of_a_file_is_refused_by_name(
    det: Det, nobody: FakeMaster, home: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    place = home / ("config/determined" if kind == "auth.json" else "") / kind
    place.mkdir(parents=True)
    if kind == "given.pem":
        monkeypatch.setenv("DET_MASTER_CERT_FILE", str(place))
    outcome = det("e", "list")
    assert outcome.status == 1
    assert f"'{place}': Is a directory" in outcome.err
