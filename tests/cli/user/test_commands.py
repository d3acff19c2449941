"""Login, logout, and the user that commands run as."""

from __future__ import annotations

import json
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.certificates import Authority
from tests.cli.conftest import Det
from tests.cli.fake_master import Answer, Call, FakeMaster, error

from determined.cli import trust
from determined.common.api import authentication

LOGIN = ("POST", "/api/v1/auth/login")


@pytest.fixture
def nobody(master: FakeMaster, monkeypatch: pytest.MonkeyPatch) -> FakeMaster:
    """The master, with no user in the environment."""
    monkeypatch.delenv("DET_USER")
    monkeypatch.delenv("DET_PASS")
    return master


def test_login_sends_the_salted_hash_and_stores_the_token(
    det: Det, nobody: FakeMaster, home: Path
) -> None:
    assert det("user", "login", "alice", stdin="Secret123\n").status == 0
    body = nobody.made(*LOGIN)[0].json
    assert body["isHashed"] is True
    assert body["username"] == "alice"
    assert body["password"] == authentication.salt_and_hash("Secret123")
    assert len(body["password"]) == 128
    assert det("user", "whoami").status == 0
    assert nobody.calls[-1].headers["authorization"] == "Bearer v2.token"


@pytest.fixture
def over_tls(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeMaster]:
    """A master with a certificate of an authority that this machine does not know."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*Authority(home).sign("127.0.0.1", has_chain=False))
    started = FakeMaster(context)
    monkeypatch.setenv("DET_MASTER", started.url)
    yield started
    started.close()


@pytest.mark.parametrize("way", ["named", "accepted"])
def test_login_trusts_the_same_certificates_as_other_commands(
    det: Det, over_tls: FakeMaster, home: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    refused = det("user", "login", "alice", stdin="Secret123\n")
    assert refused.status == 1
    assert "this machine does not trust the issuer of its certificate" in refused.err
    certificate = home / "127.0.0.1.crt"
    if way == "named":
        monkeypatch.setenv("DET_MASTER_CERT_FILE", str(certificate))
    else:
        kept = trust.file_of(over_tls.url)
        kept.parent.mkdir(parents=True)
        certificate.rename(kept)
    outcome = det("user", "login", "alice", stdin="Secret123\n")
    assert (outcome.status, outcome.err) == (0, "")
    assert det("user", "whoami").status == 0


def test_only_its_owner_can_read_the_token_file(det: Det, nobody: FakeMaster, home: Path) -> None:
    det("user", "login", "alice", stdin="x\n")
    file = home / "config" / "determined" / "auth.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = json.loads(file.read_text())["masters"][nobody.url]
    assert kept == {"active_user": "alice", "tokens": {"alice": "v2.token"}}


def test_the_error_for_an_expired_login_names_the_user(det: Det, nobody: FakeMaster) -> None:
    authentication.TokenStore(nobody.url).set_token("alice", "of-alice")
    refusal = error(401, 16, "Unauthenticated", "invalid credentials")
    nobody.routes[("GET", "/api/v1/me")] = refusal
    assert det("user", "whoami").err == (
        f"Failed to print the active user: Unauthenticated: the login of 'alice' at {nobody.url} "
        "has ended: log in again with 'det user login alice'.\n"
    )


@pytest.mark.parametrize("name", ["", "alice"])
def test_the_error_for_a_refused_token_in_the_environment_names_its_variable(
    det: Det, nobody: FakeMaster, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DET_USER_TOKEN", "v2.old")
    monkeypatch.setenv("DET_USER", name)
    refusal = error(401, 16, "Unauthenticated", "invalid credentials")
    nobody.routes[("GET", "/api/v1/me")] = refusal
    outcome = det("user", "whoami")
    assert outcome.status == 1
    assert "DET_USER_TOKEN is not a valid token" in outcome.err
    assert "det user login" not in outcome.err


def test_a_wrong_password_is_refused_and_stores_nothing(
    det: Det, nobody: FakeMaster, home: Path
) -> None:
    nobody.routes[LOGIN] = error(401, 16, "Unauthenticated", "invalid credentials")
    outcome = det("user", "login", "alice", stdin="x\n")
    assert outcome.status == 1
    assert "Invalid username/password" in outcome.err
    assert not (home / "config" / "determined" / "auth.json").exists()


def test_the_user_option_selects_a_logged_in_user(det: Det, nobody: FakeMaster) -> None:
    store = authentication.TokenStore(nobody.url)
    store.set_token("alice", "of-alice")
    store.set_token("bob", "of-bob")
    det("-u", "alice", "user", "whoami")
    assert nobody.calls[-1].headers["authorization"] == "Bearer of-alice"
    det("user", "whoami")
    assert nobody.calls[-1].headers["authorization"] == "Bearer of-bob"


def test_logout_ends_the_session_and_deletes_its_token(det: Det, nobody: FakeMaster) -> None:
    det("user", "login", "alice", stdin="x\n")
    assert det("user", "logout").status == 0
    assert len(nobody.made("POST", "/api/v1/auth/logout")) == 1
    assert authentication.TokenStore(nobody.url).users() == []
    assert det("user", "whoami").status == 1


@pytest.mark.parametrize(
    "refusal",
    [
        error(401, 16, "Unauthenticated", "invalid credentials"),
        error(403, 7, "PermissionDenied", "user 'alice' is not active; an admin can activate it"),
    ],
)
def test_logout_also_deletes_the_token_of_an_ended_session(
    det: Det, nobody: FakeMaster, refusal: Answer
) -> None:
    authentication.TokenStore(nobody.url).set_token("alice", "dead")
    nobody.routes[("POST", "/api/v1/auth/logout")] = refusal
    assert det("user", "logout").status == 0
    assert authentication.TokenStore(nobody.url).users() == []


def test_a_command_inside_a_task_uses_the_tasks_token(
    det: Det, nobody: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DET_USER", "alice")
    monkeypatch.setenv("DET_USER_TOKEN", "of-the-task")
    det("user", "whoami")
    assert nobody.calls[-1].headers["authorization"] == "Bearer of-the-task"
    assert nobody.made(*LOGIN) == []


def test_create_sends_the_password_hashed(det: Det, master: FakeMaster) -> None:
    master.routes[("POST", "/api/v1/users")] = (200, {"user": {}})
    assert det("user", "create", "bob", "--password", "Secret123", "--admin").status == 0
    body = master.made("POST", "/api/v1/users")[0].json
    assert body["password"] == authentication.salt_and_hash("Secret123")
    assert body["isHashed"] is True
    assert body["user"]["admin"] is True


def test_a_password_that_breaks_the_rule_of_the_master_is_refused(
    det: Det, master: FakeMaster
) -> None:
    outcome = det("user", "create", "bob", stdin="\n")
    assert outcome.status == 1
    assert "the password has 0 characters: give 8" in outcome.err
    assert master.made("POST", "/api/v1/users") == []


def test_a_password_change_sends_the_hash_and_logs_in_again(det: Det, nobody: FakeMaster) -> None:
    det("user", "login", "determined", stdin="x\n")
    route = ("PATCH", "/api/v1/users/2")
    nobody.routes[route] = (200, {})
    assert det("user", "change-password", stdin="Another123\n").status == 0
    hashed = authentication.salt_and_hash("Another123")
    assert nobody.made(*route)[0].json == {"password": hashed, "isHashed": True}
    assert nobody.made(*LOGIN)[-1].json["password"] == hashed
    assert authentication.TokenStore(nobody.url).active_user == "determined"


def test_an_earlier_login_needs_the_current_password_for_a_change(
    det: Det, nobody: FakeMaster
) -> None:
    det("user", "login", "determined", stdin="x\n")
    route = ("PATCH", "/api/v1/users/2")
    answers = iter([(403, {"message": "log in again"}), (200, {})])
    nobody.routes[route] = lambda call: next(answers)
    assert det("user", "change-password", stdin="Another123\nOld-12345\n").status == 0
    old, new = (authentication.salt_and_hash(p) for p in ("Old-12345", "Another123"))
    assert [call.json["password"] for call in nobody.made(*route)] == [new, new]
    assert [call.json["password"] for call in nobody.made(*LOGIN)][1:] == [old, new]


@pytest.mark.parametrize(
    "words",
    [
        ("rbac", "assign-role", "Viewer", "-u", "nobody"),
        ("user-group", "create", "g", "--add-user", "nobody"),
        ("user", "activate", "nobody"),
    ],
)
def test_a_user_who_is_not_there_is_named(
    det: Det, master: FakeMaster, words: tuple[str, ...]
) -> None:
    gone = (404, {"error": {"code": 5, "reason": "NotFound", "error": "user not found"}})
    master.routes[("GET", "/api/v1/users/nobody/by-username")] = gone
    roles = {"roles": [{"roleId": 1, "name": "Viewer"}], "pagination": {"endIndex": 1, "total": 1}}
    master.routes[("POST", "/api/v1/roles/search")] = (200, roles)
    assert "there is no user 'nobody': see 'det user list'" in det(*words).err


@pytest.fixture
def ann(master: FakeMaster) -> list[object]:
    """The changes sent for the user `änn x/%` with ID 7."""
    path = "/api/v1/users/%C3%A4nn%20x%2F%25/by-username"
    master.routes[("GET", path)] = (200, {"user": {"id": 7}})
    sent: list[object] = []

    def patch(call: Call) -> Answer:
        sent.append(call.json)
        return 200, {"user": {}}

    master.routes[("PATCH", "/api/v1/users/7")] = patch
    return sent


@pytest.mark.parametrize(
    ("words", "change"),
    [
        (("activate", "änn x/%"), {"active": True}),
        (("deactivate", "änn x/%"), {"active": False}),
        (("rename", "änn x/%", "ann"), {"username": "ann"}),
        (
            ("edit", "änn x/%", "--display-name", "", "--admin", "True", "--remote", "false"),
            {"displayName": "", "admin": True, "remote": False},
        ),
        (
            (
                *("link-with-agent-user", "änn x/%", "--agent-uid", "10", "--agent-user", "u"),
                *("--agent-gid", "20", "--agent-group", "g"),
            ),
            {
                "agentUserGroup": {
                    "agentUid": 10,
                    "agentUser": "u",
                    "agentGid": 20,
                    "agentGroup": "g",
                }
            },
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_an_edit_changes_only_the_given_attributes(
    det: Det, ann: list[object], words: tuple[str, ...], change: object
) -> None:
    assert det("user", *words).status == 0
    assert ann == [change]


def test_an_edit_prints_the_changed_attributes(det: Det, ann: list[object]) -> None:
    out = det("user", "edit", "änn x/%", "--admin", "false", "--username", "ann").out
    assert out == "Changes made to the following fields: Username, Admin\n"


def test_an_edit_without_options_is_refused(det: Det, ann: list[object]) -> None:
    outcome = det("user", "edit", "änn x/%")
    assert outcome.status == 1
    assert "nothing to change" in outcome.err
    assert ann == []
    assert det("user", "edit", "änn x/%", "--admin", "yes").status == 2
