"""No file, option or environment variable of a user ends `det` with a traceback."""

from __future__ import annotations

import contextlib
import datetime
import enum
import fractions
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

from determined.cli import errors as cli_errors
from determined.cli.config import config_file
from determined.common import config_text, context
from determined.common.api import UnauthSession, errors
from determined.common.api._address import parse_address
from determined.common.api._proxy import proxy_for
from determined.common.experimental.determined import _text_of

FUZZ = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
YAML_PARTS = st.sampled_from(
    [
        *("a", "name", "? ", ": ", "- ", "\n", "  ", "[", "]", "{", "}", ",", "&a ", "*a", "<<: "),
        *(
            "!foo ",
            "!!binary ",
            "!!set ",
            "!!int ",
            "!!float ",
            "!!timestamp ",
            "!!python/name:os ",
        ),
        *("!!omap ", "%YAML 1.1\n---\n", "--- ", "...", "|\n", ">\n", "'", '"', "\\", "#", "\t"),
        *("2001-99-99", "2001-01-01", "0x", ".nan", ".inf", "1e999", "~", "\ufeff", "\0", "\x85"),
        *(
            "9" * 5000,
            "1:99",
            "=",
            "yes",
            "1_0",
            "0o8",
            "@",
            "`",
            "[" * 400,
            "é",
            "\ud7ff",
            "{a: ",
        ),
    ]
)
TEXT = st.lists(YAML_PARTS, max_size=12).map("".join)
BYTES = st.one_of(st.binary(max_size=60), TEXT.map(lambda text: text.encode()))


@contextlib.contextmanager
def refused_by(kind: type[Exception], *names: str) -> Iterator[None]:
    """Expect no error, or one of this kind whose text has one of the names."""
    text = names[0]
    try:
        yield
    except kind as error:
        text = str(error)
    assert any(name in text for name in names)


@FUZZ
@given(content=BYTES)
def test_any_config_file_is_read_or_refused_by_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(content)
    for read in (config_file.load, lambda path: config_file.text_of(path, ["a.b=1"])):
        with refused_by(cli_errors.CliError, str(file), "--config"):
            read(str(file))


@FUZZ
@given(value=TEXT)
def test_any_override_is_applied_or_refused_by_its_text(value: str) -> None:
    config: dict[str, Any] = {}
    with refused_by(config_text.ConfigTextError, "--config "):
        config_text.override(config, [f"key={value}"])
    config_text.dump(config)


@FUZZ
@given(content=st.one_of(st.binary(max_size=60), st.text(max_size=40).map(str.encode)))
def test_any_ignore_file_is_read_or_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".detignore").write_bytes(content)
    (tmp_path / "train.py").write_text("")
    with refused_by(context.ContextError, ".detignore"):
        context.read(tmp_path)


@FUZZ
@given(pattern=st.text("[]!^-\\*?/az&|~# ", max_size=12))
def test_any_ignore_pattern_is_read(tmp_path: Path, pattern: str) -> None:
    (tmp_path / ".detignore").write_text(pattern)
    context.read(tmp_path)


@FUZZ
@given(
    value=st.text("ahtps:/@.[]*0189%é,- \t", max_size=20),
    no_proxy=st.text("af:/.[]*0189%é,- ", max_size=20),
)
def test_any_variable_of_proxies_is_used_or_refused_by_name(value: str, no_proxy: str) -> None:
    for master in ("http://master.example", "http://10.0.0.1:81", "https://[fd00::1]"):
        address = parse_address(master)
        with refused_by(errors.MasterNotFoundException, "ALL_PROXY has "):
            proxy_for(address, {"ALL_PROXY": value, "NO_PROXY": no_proxy})


@pytest.mark.parametrize("name", ["a..b", ".a", "x" * 70, "é" * 80])
@pytest.mark.parametrize("variable", ["DET_MASTER", "DET_MASTER_CERT_NAME", "HTTPS_PROXY"])
def test_a_name_that_is_no_host_is_refused_in_words(
    det: Det, master: FakeMaster, monkeypatch: pytest.MonkeyPatch, variable: str, name: str
) -> None:
    monkeypatch.setenv("DET_MASTER", "https://127.0.0.1:1")
    monkeypatch.setenv(variable, f"https://{name}" if variable == "DET_MASTER" else name)
    outcome = det("e", "list")
    assert outcome.status == 1
    assert outcome.err.startswith("Failed to list experiments: ")


@pytest.mark.parametrize("token", ["to\nken", "日本", "\x7f"])
def test_a_token_that_is_no_header_is_refused_without_its_value(
    det: Det, master: FakeMaster, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.delenv("DET_USER")
    monkeypatch.setenv("DET_USER_TOKEN", f"secret{token}")
    outcome = det("e", "list")
    assert outcome.status == 1
    assert "header 'Authorization'" in outcome.err
    assert "secret" not in outcome.err


def test_blanks_around_a_token_are_not_part_of_it(
    det: Det, master: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DET_USER")
    monkeypatch.setenv("DET_USER_TOKEN", " token\n")
    outcome = det("e", "list")
    assert outcome.err == ""
    assert "Bearer token" in {call.headers.get("authorization") for call in master.calls}


def test_a_path_outside_of_latin_1_is_refused_in_words() -> None:
    with (
        UnauthSession("http://127.0.0.1:1/日本", max_retries=0) as session,
        pytest.raises(errors.BadRequestException),
    ):
        session.get("/x")


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(0.5), "x: 0.5\n"),
        (np.float32(0.5), "x: 0.5\n"),
        (np.int64(3), "x: 3\n"),
        (np.bool_(True), "x: true\n"),
        (np.array([1, 2]), "x:\n- 1\n- 2\n"),
        (np.str_("a"), "x: a\n"),
        ((1, 2), "x:\n- 1\n- 2\n"),
        (Path("/data"), "x: /data\n"),
        (datetime.date(2024, 1, 2), "x: '2024-01-02'\n"),
        (Color.RED, "x: RED\n"),
        (float("inf"), "x: .inf\n"),
    ],
)
def test_values_of_programs_have_their_plain_form(value: Any, text: str) -> None:
    assert _text_of({"x": value}) == text


@pytest.mark.parametrize(
    ("value", "kind"),
    [(object(), "builtins.object"), ({1}, "builtins.set"), (b"\xff", "builtins.bytes")],
)
def test_a_value_without_a_plain_form_is_named_by_its_key(value: Any, kind: str) -> None:
    with pytest.raises(config_text.ConfigTextError) as error:
        _text_of({"a": [{"x": value}]})
    assert str(error.value).startswith(f"config: the value of 'a[0].x' is of type {kind}: write")
    with pytest.raises(config_text.ConfigTextError, match=r"the key .* in 'a' is of type tuple"):
        _text_of({"a": {(1, 2): value}})


def test_a_config_that_contains_itself_is_refused() -> None:
    config: dict[str, Any] = {"half": fractions.Fraction(1, 2)}
    assert _text_of(config) == "half: 0.5\n"
    config["again"] = config
    with pytest.raises(config_text.ConfigTextError, match="contains itself"):
        _text_of(config)
