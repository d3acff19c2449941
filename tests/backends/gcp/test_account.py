"""Where tokens of Google's API come from."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from tests.backends.cloud.hours import Hours
from tests.backends.cloud.http_servers import Quiet, serving
from tests.backends.cloud.metadata_server import ON_GCP, gcp_metadata
from tests.covers import covers

from determined_master.backends.cloud.metadata import GcpMetadata
from determined_master.backends.gcp import account as google_account
from determined_master.backends.gcp.account import GoogleAccount
from determined_master.ports.machines import ProviderFailed

pytestmark = [pytest.mark.slow, covers("scheduling-and-provisioning c.9.credentials")]


class TokenServer:
    """Gives tokens for forms; `forms` are those that it was sent."""

    def __init__(self) -> None:
        self.url = ""
        self.forms: list[dict[str, str]] = []
        self.status = 200
        self.text = ""
        """Its answer, if not a token."""


@pytest.fixture
def tokens() -> Iterator[TokenServer]:
    server = TokenServer()

    class Handler(Quiet):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            server.forms.append({k: v[0] for k, v in parse_qs(body).items()})
            answer = {"access_token": f"t{len(server.forms)}", "expires_in": 3600}
            text = json.dumps(answer) if server.status == 200 else '{"error": "invalid_grant"}'
            self.reply(server.status, (server.text or text).encode())

    with serving(Handler) as url:
        server.url = url
        yield server


@pytest.fixture(scope="module")
def private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def key_file(path: Path, key: rsa.RSAPrivateKey, url: str) -> dict[str, str]:
    """An environment that names a service account's key."""
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    account = {
        "type": "service_account",
        "client_email": "det@lab.example",
        "private_key_id": "k1",
        "private_key": pem.decode(),
        "token_uri": url,
    }
    path.write_text(json.dumps(account))
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(path)}


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_a_service_account_signs_for_itself(
    tmp_path: Path, tokens: TokenServer, private_key: rsa.RSAPrivateKey
) -> None:
    hours = Hours()
    env = key_file(tmp_path / "key.json", private_key, tokens.url)
    account = GoogleAccount(GcpMetadata("http://127.0.0.1:1"), env, hours)
    assert account.token() == "t1"
    [form] = tokens.forms
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    head, claims, signature = form["assertion"].split(".")
    private_key.public_key().verify(
        decoded(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    assert json.loads(decoded(head)) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    said = json.loads(decoded(claims))
    assert (said["iss"], said["aud"]) == ("det@lab.example", tokens.url)
    assert said["scope"] == "https://www.googleapis.com/auth/cloud-platform"
    assert said["exp"] - said["iat"] == 3600


def test_a_token_is_used_until_shortly_before_its_end(
    tmp_path: Path, tokens: TokenServer, private_key: rsa.RSAPrivateKey
) -> None:
    hours = Hours()
    env = key_file(tmp_path / "key.json", private_key, tokens.url)
    account = GoogleAccount(GcpMetadata("http://127.0.0.1:1"), env, hours)
    assert account.token() == account.token() == "t1"
    hours.gone += timedelta(minutes=54)
    assert account.token() == "t1"
    hours.gone += timedelta(minutes=2)
    assert account.token() == "t2"


def test_gclouds_own_login_is_found(
    tmp_path: Path, tokens: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(google_account, "TOKEN_URL", tokens.url)
    file = tmp_path / google_account.GCLOUD_FILE
    file.parent.mkdir(parents=True)
    login = {"client_id": "c", "client_secret": "s", "refresh_token": "r"}
    file.write_text(json.dumps({"type": "authorized_user", **login}))
    account = GoogleAccount(GcpMetadata("http://127.0.0.1:1"), {"HOME": str(tmp_path)})
    assert account.token() == "t1"
    assert tokens.forms == [{"grant_type": "refresh_token", **login}]


def test_without_a_file_the_machines_account_is_used(gcp_metadata_url: str) -> None:
    assert GoogleAccount(GcpMetadata(gcp_metadata_url), {}).token() == "gcp-t0ken"


def test_without_credentials_the_remedy_is_named() -> None:
    items = {k: v for k, v in ON_GCP.items() if not k.endswith("token")}
    with (
        gcp_metadata(items) as url,
        pytest.raises(ProviderFailed, match="set GOOGLE_APPLICATION_CREDENTIALS to a key file"),
    ):
        GoogleAccount(GcpMetadata(url), {}).token()


BROKEN: dict[str, Any] = {
    "no json": "cannot be read",
    "{}": "are of type None",
    '{"type": "service_account"}': "are broken",
    '{"type": "external_account"}': "are of type 'external_account'",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "key.json"
    file.write_text(text)
    env = {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}
    with pytest.raises(ProviderFailed, match=BROKEN[text]) as caught:
        GoogleAccount(GcpMetadata("http://127.0.0.1:1"), env).token()
    assert str(file) in str(caught.value)


def test_a_key_that_google_does_not_take_is_named(
    tmp_path: Path, tokens: TokenServer, private_key: rsa.RSAPrivateKey
) -> None:
    tokens.status = 400
    env = key_file(tmp_path / "key.json", private_key, tokens.url)
    with pytest.raises(ProviderFailed, match=r"400 .*invalid_grant") as caught:
        GoogleAccount(GcpMetadata("http://127.0.0.1:1"), env).token()
    assert "BEGIN" not in str(caught.value)


@pytest.mark.parametrize("text", ["<html>", "{}", "[]"])
def test_an_answer_without_a_token_is_reported_with_the_remedy(
    tmp_path: Path, tokens: TokenServer, private_key: rsa.RSAPrivateKey, text: str
) -> None:
    """A captive portal answers 200 to everything."""
    tokens.text = text
    env = key_file(tmp_path / "key.json", private_key, tokens.url)
    with pytest.raises(ProviderFailed, match="gives the master no token: give the master's"):
        GoogleAccount(GcpMetadata("http://127.0.0.1:1"), env).token()


def test_a_token_server_that_does_not_answer_is_named(
    tmp_path: Path, private_key: rsa.RSAPrivateKey
) -> None:
    env = key_file(tmp_path / "key.json", private_key, "http://127.0.0.1:1/token")
    with pytest.raises(
        ProviderFailed, match=r"no token could be had from http://127\.0\.0\.1:1/token: "
    ):
        GoogleAccount(GcpMetadata("http://127.0.0.1:1"), env).token()


def test_requests_for_tokens_follow_the_proxy_settings(
    tmp_path: Path,
    tokens: TokenServer,
    private_key: rsa.RSAPrivateKey,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", tokens.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setattr(urllib.request, "_opener", None)  # it keeps the settings it began with
    env = key_file(tmp_path / "key.json", private_key, "http://oauth2.example/token")
    assert GoogleAccount(GcpMetadata("http://127.0.0.1:1"), env).token() == "t1"


def test_without_google_auth_the_command_that_installs_it_is_named(
    tmp_path: Path, private_key: rsa.RSAPrivateKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.auth.exceptions", None)
    env = key_file(tmp_path / "key.json", private_key, "http://127.0.0.1:1/token")
    with pytest.raises(ProviderFailed, match=r"pip install 'determined-platform\[gcp\]'"):
        GoogleAccount(GcpMetadata("http://127.0.0.1:1"), env).token()


def test_google_auth_is_not_imported_before_a_token_is_asked_for() -> None:
    program = (
        "import sys, determined_master.run, determined_master.composition.machine_providers; "
        "print([name for name in sys.modules if name.startswith('google.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
