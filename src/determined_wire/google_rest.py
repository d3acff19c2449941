"""Google's REST APIs: addresses, requests, pages, and the words of refusals.

The master, the journal of a machine and `det deploy gcp` send by this module. It uses the standard
library; google-auth is imported only by those who sign with it.
"""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

SERVICES: Mapping[str, str] = {
    "compute": "https://compute.googleapis.com/compute/v1",
    "storage": "https://storage.googleapis.com/storage/v1",
    "iam": "https://iam.googleapis.com/v1",
    "cloudresourcemanager": "https://cloudresourcemanager.googleapis.com/v3",
    "secretmanager": "https://secretmanager.googleapis.com/v1",
    "logging": "https://logging.googleapis.com/v2",
    "monitoring": "https://monitoring.googleapis.com/v3",
}
"""Where each API is. CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICE names another server."""
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
PAGE = "500"


class NoAnswer(Exception):
    """A server does not answer; the text is the cause."""


class Answer(NamedTuple):
    """An answer as google-auth takes it."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def is_success(self) -> bool:
        """Whether the request was done: a redirect that urllib does not follow is a refusal."""
        return 200 <= self.status < 300


class Problem(NamedTuple):
    """What an answer says of a refusal."""

    message: str
    reasons: Sequence[str]
    details: Sequence[str]
    """Codes of newer APIs, which send them in place of `reasons`."""


class Transport:
    """google-auth's requests, sent by `send`."""

    def __init__(self, timeout_s: float) -> None:
        """`timeout_s` is for requests that set no limit."""
        self._timeout_s = timeout_s
        self.last = Answer(0, {}, b"")
        """The last answer."""

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> Answer:
        """Send a request. Raises google-auth's TransportError when there is no answer."""
        from google.auth.exceptions import TransportError

        try:
            self.last = send(url, method, body, headers or {}, timeout or self._timeout_s)
        except NoAnswer as error:
            raise TransportError(f"{url}: {error}") from None
        return self.last


def send(
    url: str,
    method: str,
    content: bytes | Mapping[str, Any] | None,
    headers: Mapping[str, str],
    timeout_s: float,
) -> Answer:
    """Send a request by urllib, which follows the proxies of the environment.

    Args:
        content: bytes, or what is sent as JSON.

    Raises:
        NoAnswer: there is no whole answer of HTTP.
    """
    fields = dict(headers)
    if isinstance(content, Mapping):
        content, fields["Content-Type"] = json.dumps(content).encode(), "application/json"
    try:
        request = urllib.request.Request(url, content, fields, method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=timeout_s)
        except urllib.error.HTTPError as error:
            answer = error  # a refusal, which can be read like every answer
        with answer:
            return Answer(answer.status, dict(answer.headers), answer.read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NoAnswer(str(error)) from None


def url_of(
    service: str, path: str, query: Mapping[str, str] | None = None, base_url: str = ""
) -> str:
    """The URL of a call: at `base_url`, else where the environment says, else at Google."""
    override = os.environ.get(f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{service.upper()}", "")
    parameters = f"?{urllib.parse.urlencode(query)}" if query else ""
    return f"{(base_url or override or SERVICES[service]).rstrip('/')}/{path}{parameters}"


def pages(
    fetch: Callable[[Mapping[str, str]], dict[str, Any]], condition: str
) -> Iterator[dict[str, Any]]:
    """All pages of a list of Compute Engine.

    Args:
        fetch: sends the request for a page with these parameters.
        condition: a filter.
    """
    query = {"filter": condition, "maxResults": PAGE}
    while True:
        page = fetch(query)
        yield page
        if not page.get("nextPageToken"):
            return
        query["pageToken"] = page["nextPageToken"]


def unreachable(page: Mapping[str, Any]) -> list[str]:
    """The zones and regions of an aggregated list whose resources it lacks."""
    warned = {name: scope.get("warning") or {} for name, scope in page.get("items", {}).items()}
    silent = [name for name, warning in warned.items() if warning.get("code") == "UNREACHABLE"]
    return [*page.get("unreachables", ()), *silent]


def errors_of(operation: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The errors of an operation of Compute Engine, each with `code` and `message`."""
    return (operation.get("error") or {}).get("errors") or ()


def problem_of(content: bytes, max_text: int) -> Problem:
    """The message and the codes of a refusal; without those of Google, the content."""
    try:
        error = json.loads(content)["error"]
        message = in_line(str(error["message"]), max_text)
        return Problem(message, _codes(error.get("errors", ())), _codes(error.get("details", ())))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Problem(in_line(content.decode(errors="replace"), max_text), (), ())


def in_line(text: str, max_text: int) -> str:
    """A text in one line."""
    return " ".join(text.split())[:max_text]


def _codes(items: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    return [str(item.get("reason", "")) for item in items]
