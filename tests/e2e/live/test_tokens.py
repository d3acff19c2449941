"""`det token` against a cluster."""

from __future__ import annotations

import pytest
from tests.e2e.live.conftest import Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live


@live("token create", "token describe", "token edit", "token list", "token login", "token revoke")
def test_a_token_is_made_used_and_revoked(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    said = person.det("token", "create", "determined", "-e", 2, "-d", "nightly").out.split()
    number, token = said[1], said[3]
    assert person.det("token", "describe", number, "--json").json()[0]["description"] == "nightly"
    assert "weekly" in person.det("tkn", "edit", number, "-d", "weekly").out
    assert "weekly" in person.det("token", "ls", "determined", "--yaml").out
    assert "ACCESS_TOKEN" in person.det("token", "list").out
    assert "nothing to change" in person.det("token", "edit", number, code=1).err
    with monkeypatch.context() as outside:
        outside.delenv("DET_USER_TOKEN")
        assert person.det("token", "login", token).out == "Logged in as determined\n"
        assert "'determined'" in person.det("user", "whoami").out
    assert person.det("token", "revoke", number).out == f"Revoked access token {number}\n"
    assert number not in person.det("token", "list").out.split()
    assert "weekly" in person.det("token", "list", "--show-inactive").out
    refused = person.det("token", "login", token, code=1).err
    assert "revoked or expired: create another" in refused
    assert "no access token 99999" in person.det("token", "describe", 99999, code=1).err
    own = person.det("token", "create", "--json").json()
    person.det("token", "revoke", own["tokenId"])
