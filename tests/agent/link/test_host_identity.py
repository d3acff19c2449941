"""The address and the user that an agent reports for its machine."""

from __future__ import annotations

import os
import pwd

import pytest

from determined_agent.link import host_identity
from determined_agent.link.host_identity import (
    account_name,
    advertised_address,
    default_route_address,
)


def test_the_local_end_of_the_route_to_the_master_is_advertised() -> None:
    assert advertised_address("", "10.1.2.3") == "10.1.2.3"


def test_the_setting_wins() -> None:
    assert advertised_address("host.example", "10.1.2.3") == "host.example"


@pytest.mark.parametrize(("found", "address"), [("10.9.9.9", "10.9.9.9"), ("", "127.0.0.1")])
def test_with_a_master_on_the_same_machine_the_default_route_is_advertised(
    monkeypatch: pytest.MonkeyPatch, found: str, address: str
) -> None:
    monkeypatch.setattr(host_identity, "default_route_address", lambda: found)
    assert advertised_address("", "127.0.0.1") == address


def test_looking_up_the_default_route_sends_nothing() -> None:
    assert not default_route_address().startswith("127.")


def test_root_has_no_account_since_each_task_may_have_another_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert account_name() == ""


def test_another_user_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    user = pwd.getpwnam("nobody")
    monkeypatch.setattr(os, "getuid", lambda: user.pw_uid)
    assert account_name() == "nobody"


def test_a_user_id_without_a_name_gives_an_empty_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 3_999_999)
    assert account_name() == ""
