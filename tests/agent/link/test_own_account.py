"""Whose processes an agent's are."""

from __future__ import annotations

import os
import pwd

import pytest

from determined_agent.link.own_account import own_account


def test_root_chooses_for_each_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert own_account() == ""


def test_another_user_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    user = pwd.getpwnam("nobody")
    monkeypatch.setattr(os, "getuid", lambda: user.pw_uid)
    assert own_account() == "nobody"


def test_a_number_without_a_name_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 3_999_999)
    assert own_account() == ""
