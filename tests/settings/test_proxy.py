"""Where browsers open services of tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.master_settings import errors, read


def test_by_default_the_master_chooses_the_port(tmp_path: Path) -> None:
    settings = read(tmp_path, "")
    assert settings.proxy.port is None
    assert settings.service_address == ""


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("proxy: {port: 9000}", "http://{host}:9000"),
        ("proxy: {port: 0}", ""),
        ("proxy: {port: 1, address: 'https://{service}.x'}", "https://{service}.x"),
        ("proxy: {port: 1, address: 'http://{host}:8'}", "http://{host}:8"),
    ],
)
def test_a_port_or_an_address_can_be_set(tmp_path: Path, text: str, address: str) -> None:
    assert read(tmp_path, text).service_address == address


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("proxy: {port: 8080}", "must differ from port, which is 8080 too"),
        ("proxy: {port: 70000}", "must be from 0 to 65535 but found 70000"),
        ("proxy: {address: 'ftp://x'}", "must be http(s)://HOST[:PORT]"),
        ("proxy: {address: 'http://{host}:8'}", "needs proxy.port"),
        ("proxy: {port: 1, address: 'http://a.{host}:8'}", "must be the whole HOST"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    assert complaint in str(errors(tmp_path, text))
