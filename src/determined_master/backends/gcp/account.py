"""Tokens of Google's API: from a key file, from gcloud's login, else of the master's machine.

Every call blocks. The rules are those of Google's own clients: GOOGLE_APPLICATION_CREDENTIALS
names a file, else gcloud's is looked for, else the metadata service is asked.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from determined_master import clock
from determined_master.backends.cloud.metadata import GcpMetadata
from determined_master.ports import ProviderFailed

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
TOKEN_URL = "https://oauth2.googleapis.com/token"
GCLOUD_FILE = ".config/gcloud/application_default_credentials.json"
RENEW_BEFORE = timedelta(minutes=5)
TIMEOUT_S = 10.0
_SELF_ISSUED = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_REMEDY = (
    "give the master's machine a service account, or set GOOGLE_APPLICATION_CREDENTIALS to a key "
    "file where the master runs"
)


class GoogleAccount:
    """Gives tokens, each until shortly before its end."""

    def __init__(
        self,
        metadata: GcpMetadata,
        env: Mapping[str, str] = os.environ,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        """
        Args:
            metadata: gives tokens of the machine.
            env: names files.
            now: the clock, to know when a token ends.
        """
        self._metadata = metadata
        self._env = env
        self._now = now
        self._lock = threading.Lock()
        self._token = ""
        self._until: datetime | None = None

    def token(self) -> str:
        """A token that is good for a while. Raises ProviderFailed."""
        with self._lock:
            now = self._now()
            if self._until is None or now >= self._until - RENEW_BEFORE:
                answer = self._ask(now)
                try:
                    self._token = str(answer["access_token"])
                    self._until = now + timedelta(seconds=float(answer.get("expires_in", 0)))
                except (KeyError, TypeError, ValueError):
                    raise ProviderFailed(f"GCP gives the master no token: {_REMEDY}") from None
            return self._token

    def _ask(self, now: datetime) -> dict[str, Any]:
        found = self._key_file()
        if found is None:
            text = self._metadata.find("instance/service-accounts/default/token")
            if not text:
                raise ProviderFailed(f"GCP: the master has no credentials: {_REMEDY}")
            answer: dict[str, Any] = json.loads(text)
            return answer
        path, key = found
        try:
            if key.get("type") == "service_account":
                url = str(key.get("token_uri") or TOKEN_URL)
                form = {"grant_type": _SELF_ISSUED, "assertion": assertion(key, url, now)}
            elif key.get("type") == "authorized_user":
                url = TOKEN_URL
                form = {
                    "grant_type": "refresh_token",
                    **{k: str(key[k]) for k in ("client_id", "client_secret", "refresh_token")},
                }
            else:
                raise ProviderFailed(
                    f"GCP: the credentials in {path} are of type {key.get('type')!r}: use those "
                    "of a service account, or gcloud auth application-default login"
                )
        except (KeyError, ValueError, TypeError):
            raise ProviderFailed(f"GCP: the credentials in {path} are broken: {_REMEDY}") from None
        return _post(url, form, path)

    def _key_file(self) -> tuple[Path, dict[str, Any]] | None:
        given = self._env.get("GOOGLE_APPLICATION_CREDENTIALS", "")
        home = self._env.get("HOME", "")
        path = Path(given) if given else Path(home) / GCLOUD_FILE
        if not given and (not home or not path.exists()):
            return None
        try:
            key = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise ProviderFailed(
                f"GCP: the credentials in {path} cannot be read: {_REMEDY}"
            ) from None
        return path, key if isinstance(key, dict) else {}


def assertion(key: Mapping[str, Any], audience: str, now: datetime) -> str:
    """A service account's claim, signed with its key: a JSON web token for an hour."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    begin = int(now.timestamp())
    claims = {
        "iss": key["client_email"],
        "scope": SCOPE,
        "aud": audience,
        "iat": begin,
        "exp": begin + 3600,
    }
    head = {"alg": "RS256", "typ": "JWT", "kid": key.get("private_key_id", "")}
    signed = b".".join(_coded(json.dumps(part).encode()) for part in (head, claims))
    private = serialization.load_pem_private_key(str(key["private_key"]).encode(), None)
    if not isinstance(private, rsa.RSAPrivateKey):
        raise ValueError("the key of a service account must be of RSA")
    signature = private.sign(signed, padding.PKCS1v15(), hashes.SHA256())
    return (signed + b"." + _coded(signature)).decode()


def _coded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _post(url: str, form: Mapping[str, str], path: Path) -> dict[str, Any]:
    body = urllib.parse.urlencode(form).encode()
    try:
        with urllib.request.urlopen(url, body, timeout=TIMEOUT_S) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(2000).decode(errors="replace")
        reason = " ".join(said.split())[:200]
        raise ProviderFailed(
            f"GCP does not take the credentials in {path} ({error.code} {reason}): {_REMEDY}"
        ) from None
    except (OSError, ValueError) as error:
        raise ProviderFailed(f"GCP: no token could be had from {url}: {error}") from None
