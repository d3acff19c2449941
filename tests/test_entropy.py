"""What the master draws."""

from __future__ import annotations

import secrets

import pytest

from determined_master import entropy


def test_no_token_reads_like_an_option_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["-abc", "--d", "a-c"])
    monkeypatch.setattr(secrets, "token_urlsafe", lambda size: next(drawn))
    assert entropy.token() == "a-c"
