"""The reader of options that master and agent share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from determined_wire.settings_options import Option, options
from determined_wire.settings_reader import (
    SettingsError,
    SettingsParser,
    SettingValue,
    add_flag,
    given_flags,
    options_in,
    overrides,
    read_text,
    similar_option,
)


class Inner(msgspec.Struct, frozen=True):
    ssl_mode: Annotated[Literal["require", "allow"], Meta(description="Mode.")] = "require"
    hosts: tuple[str, ...] = ()


class Outer(msgspec.Struct, frozen=True):
    db: Inner = Inner()
    port: int | None = None
    is_open: bool = False


def known() -> dict[str, Option]:
    return {option.name: option for option in options(Outer)}


def test_an_option_is_named_after_its_path() -> None:
    mode = known()["db.ssl_mode"]
    assert (mode.flag, mode.variable, mode.doc) == ("--db-ssl-mode", "DET_DB_SSL_MODE", "Mode.")


def test_words_keep_the_order_of_the_definition() -> None:
    assert known()["db.ssl_mode"].words == ("require", "allow")
    assert known()["port"].words == ()


def test_only_scalars_have_flags_and_variables() -> None:
    scalars = [name for name, option in known().items() if option.is_scalar]
    assert scalars == ["db.ssl_mode", "port", "is_open"]


def test_a_flag_wins_over_a_variable_and_an_empty_variable_is_unset() -> None:
    env = {"DET_PORT": "1", "DET_DB_SSL_MODE": "", "DET_IS_OPEN": "yes", "DET_DB_HOSTS": "a"}
    given = overrides(Outer, env, {"port": SettingValue("2", "--port")})
    assert [(option.name, *value) for option, value in given] == [
        ("port", "2", "--port"),
        ("is_open", "yes", "DET_IS_OPEN"),
    ]


def test_a_switch_needs_no_value() -> None:
    scalars = [option for option in options(Outer) if option.is_scalar]
    parser = SettingsParser(argument_default=argparse.SUPPRESS)
    for option in scalars:
        add_flag(parser, option)
    parsed = parser.parse_args(["--is-open", "--port", "3"])
    assert given_flags(scalars, parsed) == {
        "port": SettingValue("3", "--port"),
        "is_open": SettingValue("true", "--is-open"),
    }


def test_only_an_explicit_file_must_exist(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.yaml")
    assert read_text(missing, is_explicit=False) is None
    with pytest.raises(SettingsError, match=r"none\.yaml does not exist"):
        read_text(missing, is_explicit=True)


def test_a_file_holds_a_map_or_nothing() -> None:
    assert options_in(None, "f") == {}
    with pytest.raises(SettingsError, match="f must hold a map of options"):
        options_in([1], "f")


def test_every_error_names_its_path_and_source() -> None:
    error = SettingsError.of([("root.a", "is wrong"), ("root.b", "too")], {"root.b": "DET_B"})
    assert str(error) == (
        "Check Failed! 2 errors found:\n\troot.a: is wrong\n\troot.b: too (from DET_B)"
    )


def test_a_similar_option_is_suggested() -> None:
    assert similar_option("prot", ["port", "host"]) == "port"
    assert similar_option("zzz", ["port", "host"]) == ""
