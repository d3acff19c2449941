"""Calls of the REST APIs of Google, and their refusals in words."""

from __future__ import annotations

import json
import os
import time
import urllib.parse
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from determined.cli import errors
from determined.cli.deploy.gcp.account import Answer, GcpAccount, send
from determined.common._backoff import Backoff

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
TRIES = 5
BACKOFF = Backoff(0.25, 2.0)
"""Between looks at an operation: many end within a second."""
RETRY = Backoff(2.0, 8.0)
"""After a refusal that passes."""
LIMIT_S = 900.0
_DISABLED = ("SERVICE_DISABLED", "accessNotConfigured")
_MAX_TEXT = 600


class Refused(errors.CliError):
    """GCP has refused a call, or could not do it.

    `status` is that of HTTP, 0 for an operation that failed; `reasons` are codes of GCP.
    """

    def __init__(self, status: int, text: str, reasons: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.is_disabled = any(one in _DISABLED for one in reasons)
        """Whether the API is not enabled in the project."""
        self.is_of_use = any("INUSE" in one.replace("_", "").upper() for one in reasons)
        """Whether the reason is that something else uses the resource."""


class Calls:
    """Calls in one project."""

    def __init__(self, account: GcpAccount) -> None:
        self._account = account
        self.project = account.project

    def call(
        self,
        service: str,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        query: Optional[Mapping[str, str]] = None,
    ) -> Dict[str, Any]:
        """Send a request; the answer.

        Args:
            service: one of `SERVICES`.
            method: of HTTP.
            path: below the address of the service.
            body: JSON to send.
            query: parameters.

        Raises:
            Refused: GCP refuses it.
            CliError: GCP does not answer.
        """
        content = None if body is None else json.dumps(body).encode()
        answer = self._send(url_of(service, path, query), method, content, "application/json")
        return dict(json.loads(answer.data)) if answer.data.strip() else {}

    def find(self, service: str, path: str) -> Optional[Dict[str, Any]]:
        """A resource; None if there is none. Raises as `call`."""
        try:
            return self.call(service, "GET", path)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def upload(self, bucket: str, name: str, content: bytes) -> None:
        """Store an object. Raises as `call`."""
        base = url_of("storage", "").replace("/storage/v1", "/upload/storage/v1")
        query = urllib.parse.urlencode({"uploadType": "media", "name": name})
        url = f"{base}b/{bucket}/o?{query}"
        self._send(url, "POST", content, "application/octet-stream")

    def compute(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        query: Optional[Mapping[str, str]] = None,
    ) -> Dict[str, Any]:
        """A call of Compute Engine below the project. Raises as `call`."""
        return self.call("compute", method, self.in_project(path), body, query)

    def find_compute(self, path: str) -> Optional[Dict[str, Any]]:
        """A resource of Compute Engine; None if there is none. Raises as `call`."""
        return self.find("compute", self.in_project(path))

    def in_project(self, path: str) -> str:
        """A path below the project."""
        return f"projects/{self.project}/{path}" if path else f"projects/{self.project}"

    def aggregated(self, kind: str, condition: str) -> Iterator[Dict[str, Any]]:
        """Resources of all zones and regions.

        Args:
            kind: the collection, such as `disks`.
            condition: a filter.

        Raises:
            CliError: as `call`; also if GCP does not know those of a zone at present.
        """
        query = {"filter": condition, "maxResults": "500"}
        while True:
            page = self.compute("GET", f"aggregated/{kind}", query=query)
            for silent in page.get("unreachables", ()):
                raise errors.CliError(f"GCP does not know the {kind} of {silent} at present")
            for scope in page.get("items", {}).values():
                yield from scope.get(kind, ())
            if not page.get("nextPageToken"):
                return
            query["pageToken"] = page["nextPageToken"]

    def change(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        query: Optional[Mapping[str, str]] = None,
    ) -> None:
        """A call of Compute Engine that begins an operation; return at its end.

        Raises:
            CliError: GCP refuses the call, the operation fails, or it does not end in 15 minutes.
        """
        self.finish(self.compute(method, path, body, query), f"{method} {path}")

    def finish(self, operation: Mapping[str, Any], act: str) -> None:
        """Wait for the end of an operation. Raises CliError as `change`."""
        deadline = time.monotonic() + LIMIT_S
        pauses = BACKOFF.pauses()
        while operation.get("status") != "DONE":
            if time.monotonic() > deadline:
                raise errors.CliError(
                    f"GCP has not ended {act} after {LIMIT_S / 60:g} minutes (operation "
                    f"{operation['name']}); repeat the command later, it continues there"
                )
            time.sleep(next(pauses))
            operation = self.compute(
                "GET", f"{_scope_of(operation)}/operations/{operation['name']}"
            )
        problems = (operation.get("error") or {}).get("errors") or ()
        if problems:
            text = "; ".join(f"{one.get('code')}: {one.get('message')}" for one in problems)
            codes = [str(one.get("code")) for one in problems]
            raise Refused(0, f"GCP could not do {act}: {text[:_MAX_TEXT]}", codes)

    def _send(self, url: str, method: str, content: Optional[bytes], kind: str) -> Answer:
        from google.auth.exceptions import TransportError

        headers = self._account.headers()
        if content is not None:
            headers["Content-Type"] = kind
        act = f"{method} {urllib.parse.urlsplit(url).path.lstrip('/')}"
        for attempt in range(1, TRIES + 1):
            try:
                answer = send(url, method, content, headers)
            except TransportError as error:
                raise errors.CliError(f"GCP does not answer: {error}") from None
            if answer.status < 400:
                return answer
            # A call that changes something could have had its effect, so only these are repeated.
            is_passing = answer.status == 429 or (answer.status >= 500 and method == "GET")
            if not is_passing or attempt == TRIES:
                raise refusal(answer, act, self.project)
            time.sleep(RETRY.after(attempt))
        raise AssertionError("not reached")


def url_of(service: str, path: str, query: Optional[Mapping[str, str]] = None) -> str:
    """The URL of a call."""
    override = os.environ.get(f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{service.upper()}", "")
    more = f"?{urllib.parse.urlencode(query)}" if query else ""
    return f"{(override or SERVICES[service]).rstrip('/')}/{path}{more}"


def refusal(answer: Answer, act: str, project: str) -> Refused:
    """A refusal in words, with the remedy for a missing permission and a disabled API."""
    message, reasons = _parts(answer.data)
    if answer.status == 403 and any(reason in _DISABLED for reason in reasons):
        text = f"{message} Or: gcloud services enable --project {project} {_ALL}"
        return Refused(403, text, reasons)
    if answer.status in (401, 403):
        return Refused(answer.status, f"these credentials may not {act}: {message}")
    return Refused(answer.status, f"GCP refused {act} ({answer.status}): {message}", reasons)


_ALL = " ".join(f"{name}.googleapis.com" for name in SERVICES)


def _parts(content: bytes) -> Tuple[str, Tuple[str, ...]]:
    """The message of an error, and its reasons."""
    try:
        error = json.loads(content)["error"]
        message = " ".join(str(error["message"]).split())[:_MAX_TEXT]
        listed = [*error.get("errors", ()), *error.get("details", ())]
        return message, tuple(str(one.get("reason", "")) for one in listed)
    except (ValueError, KeyError, TypeError, AttributeError):
        return " ".join(content.decode(errors="replace").split())[:_MAX_TEXT], ()


def _scope_of(operation: Mapping[str, Any]) -> str:
    """Where an operation is: `zones/ZONE`, `regions/REGION` or `global`."""
    for kind in ("zone", "region"):
        if operation.get(kind):
            return f"{kind}s/{str(operation[kind]).rpartition('/')[2]}"
    return "global"
