"""`det notebook share` and `det shell share`."""

from __future__ import annotations

import pytest
from tests.cli import canned
from tests.cli.canned_tasks import ID
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

PATH = f"/api/v1/tasks/{ID}/shares"
SHARES = {
    "shares": [
        {"username": "bob", "group": "", "sharedBy": "determined", "sharedAt": canned.T0},
        {"username": "", "group": "lab", "sharedBy": "determined", "sharedAt": canned.T0},
    ]
}


@pytest.mark.parametrize("kind", ["notebook", "shell"])
def test_users_and_groups_are_let_in_and_everybody_is_listed(
    det: Det, master: FakeMaster, kind: str
) -> None:
    master.routes["POST", PATH] = (200, SHARES)
    lines = det(kind, "share", ID, "--user", "bob", "--group", "lab", "--csv").out.splitlines()
    assert lines[0] == "User,Group,Shared By,Since"
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["bob", "", "determined"],
        ["", "lab", "determined"],
    ]
    (call,) = master.made("POST", PATH)
    assert call.json == {"users": ["bob"], "groups": ["lab"]}


def test_without_names_the_shares_are_listed(det: Det, master: FakeMaster) -> None:
    master.routes["GET", PATH] = (200, SHARES)
    assert "lab" in det("notebook", "share", ID).out
    assert "lab" in det("notebook", "share", ID, "--json").out


def test_revoke_needs_names_and_ends_their_shares(det: Det, master: FakeMaster) -> None:
    said = det("shell", "share", ID, "--revoke")
    assert (said.status, "--revoke needs --user or --group" in said.err) == (1, True)
    master.routes["POST", f"{PATH}/revoke"] = (200, {"shares": []})
    assert det("shell", "share", ID, "--revoke", "--user", "bob").status == 0
    (call,) = master.made("POST", f"{PATH}/revoke")
    assert call.json == {"users": ["bob"], "groups": []}
