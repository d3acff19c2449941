"""`det context`: masters by name, and which of them commands call."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

from determined.common import master_contexts
from determined.experimental import Determined


def file() -> Path:
    return master_contexts.ContextStore().path


@pytest.fixture
def served(master: FakeMaster, monkeypatch: pytest.MonkeyPatch) -> FakeMaster:
    """A master that no variable names."""
    monkeypatch.delenv("DET_MASTER")
    return master


def test_commands_and_the_sdk_call_the_current_context(det: Det, served: FakeMaster) -> None:
    assert det("context", "create", "lab", served.url).out == (
        f"context 'lab' is {served.url}\ncommands use context 'lab' now\n"
    )
    assert "wirex" in det("experiment", "list").out
    cluster = Determined()
    assert cluster.get_experiment(7).name == "wirex"
    cluster._session.close()
    assert served.url in det("version").out


@pytest.mark.parametrize("source", ["option", "variable"])
def test_an_address_that_is_named_overrides_the_context(
    det: Det, served: FakeMaster, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    det("context", "create", "elsewhere", "127.0.0.1:1")
    words = ["experiment", "list"]
    if source == "option":
        words = ["-m", served.url, *words]
    else:
        monkeypatch.setenv("DET_MASTER", served.url)
        used = det("context", "use", "elsewhere")
        assert f"DET_MASTER is {served.url} and overrides the context: unset it" in used.err
    assert "wirex" in det(*words).out


def test_the_first_context_is_used_and_another_one_on_request(det: Det, home: Path) -> None:
    assert det("context", "show").out == "localhost:8080 (default)\n"
    det("context", "create", "a", "a")
    assert "now" not in det("context", "create", "b", "https://b:8443/det").out
    assert det("context", "show").out == "http://a:8080 (context a)\n"
    assert det("context", "use", "b").out.endswith("commands use context 'b' now\n")
    assert json.loads(det("context", "list", "--json").out) == [
        {"current": False, "name": "a", "address": "http://a:8080", "user": ""},
        {"current": True, "name": "b", "address": "https://b:8443/det", "user": ""},
    ]


def test_after_the_removal_of_the_current_context_the_one_before_is_used(
    det: Det, home: Path
) -> None:
    for name in ("a", "b"):
        det("context", "create", name, name, "--use")
    assert det("context", "remove", "b").out == (
        "removed context 'b'\ncommands use http://a:8080 now (context a)\n"
    )
    assert det("context", "remove", "a").out.endswith("localhost:8080 now (default)\n")
    assert "there are no contexts: commands use localhost:8080 (default)" in det("context").out


def test_the_removal_of_another_context_changes_nothing_else(det: Det, home: Path) -> None:
    det("context", "create", "a", "a")
    det("context", "create", "b", "b")
    assert det("context", "remove", "b").out == "removed context 'b'\n"
    assert det("context", "show").out == "http://a:8080 (context a)\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("use", "labb"), "there is no context 'labb' (there is: lab); create it with"),
        (("remove", "labb"), "there is no context 'labb' (there is: lab)"),
        (("create", "a b", "x"), "the name 'a b' of a context: use 1 to 64 letters"),
        (("create", "../x", "x"), "the name '../x' of a context"),
        (("create", "x", "ftp://x"), "the scheme must be http or https"),
        (("create", "x", "x:99999"), "the port must be a number"),
    ],
)
def test_a_refusal_names_the_value_and_changes_nothing(
    det: Det, home: Path, words: tuple[str, ...], said: str
) -> None:
    det("context", "create", "lab", "lab")
    before = file().read_text()
    outcome = det("context", *words)
    assert outcome.status == 1
    assert said in outcome.err
    assert file().read_text() == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"contexts": {"a": 1}}', "\xff"])
def test_a_damaged_file_is_named_and_kept(det: Det, home: Path, text: str) -> None:
    file().parent.mkdir(parents=True)
    file().write_text(text, encoding="latin-1")
    for words in (("context", "list"), ("context", "create", "a", "a"), ("experiment", "list")):
        outcome = det(*words)
        assert outcome.status == 1
        assert f"the file of contexts {file()} is damaged" in outcome.err
    assert file().read_text(encoding="latin-1") == text


def test_no_more_contexts_than_the_bound(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_contexts, "MAX_CONTEXTS", 2)
    store = master_contexts.ContextStore()
    store.put("a", "a")
    store.put("b", "b")
    store.put("b", "c")
    with pytest.raises(master_contexts.ContextError, match="there are 2 contexts already"):
        store.put("c", "c")
    assert list(store.addresses()) == ["a", "b"]


def test_contexts_of_commands_at_the_same_time_are_all_kept(home: Path) -> None:
    names = [f"c{number:02}" for number in range(20)]
    threads = [
        threading.Thread(target=master_contexts.ContextStore().put, args=(name, name))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(master_contexts.ContextStore().addresses()) == names


def test_only_the_owner_reads_the_file(home: Path) -> None:
    master_contexts.ContextStore().put("a", "a")
    assert file().stat().st_mode & 0o777 == 0o600
