"""Access tokens for Google's API: from a key file, gcloud's login, or the master's machine.

Every call blocks. The order is that of Google's own clients: the file named by
GOOGLE_APPLICATION_CREDENTIALS, gcloud's file, the metadata service. google-auth signs and sends
the requests for files; it is imported with the first of them.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from determined_master import clock
from determined_master.backends.cloud.metadata import GcpMetadata
from determined_master.ports.machines import ProviderFailed
from determined_wire import google_rest

TOKEN_URL = "https://oauth2.googleapis.com/token"
GCLOUD_FILE = ".config/gcloud/application_default_credentials.json"
RENEW_BEFORE = timedelta(minutes=5)
TIMEOUT_S = 10.0
MAX_REASON = 200
_REMEDY = (
    "give the master's machine a service account, or set GOOGLE_APPLICATION_CREDENTIALS to a key "
    "file where the master runs"
)


class GoogleToken(NamedTuple):
    text: str
    life: timedelta


class GoogleAccount:
    """Provides tokens, and renews each shortly before it expires."""

    def __init__(
        self,
        metadata: GcpMetadata,
        env: Mapping[str, str] = os.environ,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        """
        Args:
            metadata: provides tokens of the machine.
            env: names files.
            now: the clock for the expiry of tokens.
        """
        self._metadata = metadata
        self._env = env
        self._now = now
        self._lock = threading.Lock()
        self._token = ""
        self._until: datetime | None = None

    def token(self) -> str:
        """A token that is valid for some minutes. Raises ProviderFailed."""
        with self._lock:
            now = self._now()
            if self._until is None or now >= self._until - RENEW_BEFORE:
                found = self._key_file()
                token = self._of_machine() if found is None else token_of(*found)
                self._token, self._until = token.text, now + token.life
            return self._token

    def _of_machine(self) -> GoogleToken:
        text = self._metadata.find("instance/service-accounts/default/token")
        if not text:
            raise ProviderFailed(f"GCP: the master has no credentials: {_REMEDY}")
        try:
            answer = json.loads(text)
            life = timedelta(seconds=float(answer.get("expires_in", 0)))
            return GoogleToken(str(answer["access_token"]), life)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ProviderFailed(f"GCP gives the master no token: {_REMEDY}") from None

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


def token_of(path: Path, key: Mapping[str, Any]) -> GoogleToken:
    """Exchange the credentials of a file for a token.

    Raises:
        ProviderFailed: the credentials are broken or refused, Google does not answer, or
            google-auth is not installed.
    """
    try:
        from google.auth.exceptions import GoogleAuthError, TransportError
    except ImportError:
        raise ProviderFailed(
            "google-auth is not installed where the master runs: "
            "pip install 'determined-platform[gcp]'"
        ) from None
    try:
        credentials = _credentials(path, key)
    except (KeyError, ValueError, TypeError, AttributeError):
        raise ProviderFailed(f"GCP: the credentials in {path} are broken: {_REMEDY}") from None
    transport = google_rest.Transport(TIMEOUT_S)
    try:
        credentials.refresh(transport)
    except TransportError as error:
        raise ProviderFailed(f"GCP: no token could be had from {error}") from None
    except (GoogleAuthError, KeyError, TypeError, ValueError, AttributeError):
        answer = transport.last
        if answer.status == 200:  # not an answer of Google's API
            raise ProviderFailed(f"GCP gives the master no token: {_REMEDY}") from None
        raise ProviderFailed(
            f"GCP rejects the credentials in {path} ({answer.status} "
            f"{google_rest.in_line(answer.data.decode(errors='replace'), MAX_REASON)}): {_REMEDY}"
        ) from None
    expiry = credentials.expiry  # without a time zone, in UTC
    life = expiry.replace(tzinfo=UTC) - clock.now() if expiry else timedelta(0)
    return GoogleToken(str(credentials.token), life)


def _credentials(path: Path, key: Mapping[str, Any]) -> Any:
    """google-auth's credentials of a file. Raises its errors for a broken one."""
    if key.get("type") == "service_account":
        from google.oauth2 import service_account

        url = str(key.get("token_uri") or TOKEN_URL)
        return service_account.Credentials.from_service_account_info(
            {**key, "token_uri": url}, scopes=[google_rest.SCOPE], additional_claims={"aud": url}
        )
    if key.get("type") == "authorized_user":
        from google.oauth2 import credentials

        return credentials.Credentials(
            None,
            refresh_token=str(key["refresh_token"]),
            token_uri=TOKEN_URL,
            client_id=str(key["client_id"]),
            client_secret=str(key["client_secret"]),
        )
    raise ProviderFailed(
        f"GCP: the credentials in {path} are of type {key.get('type')!r}: use those of a service "
        "account, or gcloud auth application-default login"
    )
