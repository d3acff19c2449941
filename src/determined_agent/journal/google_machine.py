"""This machine of Compute Engine, and the tokens of its service account, by the metadata service.

The service is on the machine's own network, so it is never reached through a proxy.
"""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request

import msgspec

from determined_agent import clock
from determined_agent.journal.target import CannotStart, NotSent

TIMEOUT_S = 5.0
RENEW_BEFORE_S = 60.0
_MAX_BYTES = 65_536
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class GoogleMachine(msgspec.Struct, frozen=True):
    """What Google's logs and metrics know a machine by."""

    project: str
    zone: str
    instance_id: str
    """A number."""
    name: str


class _Token(msgspec.Struct):
    access_token: str
    expires_in: float


class Tokens:
    """Tokens of the machine's service account; one is used until it expires."""

    def __init__(self) -> None:
        self._token = ""
        self._until_s = 0.0

    def get(self) -> str:
        """A token that is valid at present. Raises NotSent."""
        if not self._token or clock.monotonic_s() > self._until_s:
            answer = _ask("instance/service-accounts/default/token")
            try:
                token = msgspec.json.decode(answer, type=_Token)
            except msgspec.DecodeError:
                # The answer may have a token, and logs have none.
                raise NotSent("the metadata service's answer has no token") from None
            self._token = token.access_token
            self._until_s = clock.monotonic_s() + token.expires_in - RENEW_BEFORE_S
        return self._token

    def forget(self) -> None:
        """Fetch another one next time."""
        self._token = ""


def this_machine() -> GoogleMachine:
    """The machine that this runs on.

    Raises:
        CannotStart: the metadata service does not answer, or does not know the machine.
    """
    try:
        return GoogleMachine(
            project=_ask("project/project-id"),
            zone=_ask("instance/zone").rpartition("/")[2],
            instance_id=_ask("instance/id"),
            name=_ask("instance/name"),
        )
    except NotSent as error:
        raise CannotStart(f"{error}: Cloud Logging needs a machine of Compute Engine") from None


def _ask(item: str) -> str:
    host = os.environ.get("GCE_METADATA_HOST", "") or "metadata.google.internal"
    url = f"http://{host}/computeMetadata/v1/{item}"
    request = urllib.request.Request(url, headers={"Metadata-Flavor": "Google"})
    try:
        with _direct.open(request, timeout=TIMEOUT_S) as answer:
            return str(answer.read(_MAX_BYTES).decode(errors="replace")).strip()
    except urllib.error.HTTPError as error:
        with error:
            raise NotSent(f"the metadata service answers {error.code} for {item}") from None
    except (OSError, http.client.HTTPException) as error:
        raise NotSent(f"the metadata service does not answer: {error}") from None
