"""Where an agent says that others reach it."""

from __future__ import annotations

import pytest

from determined_agent.link import own_address as module
from determined_agent.link.own_address import default_route_address, own_address


def test_the_end_of_the_route_to_the_master_is_told() -> None:
    assert own_address("", "10.1.2.3") == "10.1.2.3"


def test_what_the_admin_says_wins() -> None:
    assert own_address("host.example", "10.1.2.3") == "host.example"


@pytest.mark.parametrize(("found", "told"), [("10.9.9.9", "10.9.9.9"), ("", "127.0.0.1")])
def test_a_master_on_the_same_machine_does_not_make_it_loopback(
    monkeypatch: pytest.MonkeyPatch, found: str, told: str
) -> None:
    monkeypatch.setattr(module, "default_route_address", lambda: found)
    assert own_address("", "127.0.0.1") == told


def test_the_default_route_is_looked_up_without_sending_anything() -> None:
    assert not default_route_address().startswith("127.")
