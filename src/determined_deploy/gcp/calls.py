"""Calls of the REST APIs of Google, and their refusals in words."""

from __future__ import annotations

import json
import time
import urllib.parse
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Union

from determined.cli import errors
from determined.common._backoff import Backoff
from determined_deploy.gcp.account import TIMEOUT_S, GcpAccount
from determined_wire import google_rest

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
        answer = self._send(google_rest.url_of(service, path, query), method, body)
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
        base = google_rest.url_of("storage", "").replace("/storage/v1", "/upload/storage/v1")
        query = urllib.parse.urlencode({"uploadType": "media", "name": name})
        url = f"{base}b/{bucket}/o?{query}"
        self._send(url, "POST", content)

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
        path = f"aggregated/{kind}"

        def fetch(query: Mapping[str, str]) -> Dict[str, Any]:
            return self.compute("GET", path, query=query)

        for page in google_rest.pages(fetch, condition):
            for silent in google_rest.unreachable(page):
                raise errors.CliError(f"GCP does not know the {kind} of {silent} at present")
            for scope in page.get("items", {}).values():
                yield from scope.get(kind, ())

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
        if problems := google_rest.errors_of(operation):
            text = "; ".join(f"{one.get('code')}: {one.get('message')}" for one in problems)
            codes = [str(one.get("code")) for one in problems]
            raise Refused(0, f"GCP could not do {act}: {text[:_MAX_TEXT]}", codes)

    def _send(
        self, url: str, method: str, content: Union[bytes, Mapping[str, Any], None]
    ) -> google_rest.Answer:
        headers = self._account.headers()
        if isinstance(content, bytes):
            headers["Content-Type"] = "application/octet-stream"
        act = f"{method} {urllib.parse.urlsplit(url).path.lstrip('/')}"
        for attempt in range(1, TRIES + 1):
            try:
                answer = google_rest.send(url, method, content, headers, TIMEOUT_S)
            except google_rest.NoAnswer as error:
                raise errors.CliError(f"GCP does not answer: {url}: {error}") from None
            if answer.is_success:
                return answer
            # A call that changes something could have had its effect, so only these are repeated.
            is_passing = answer.status == 429 or (answer.status >= 500 and method == "GET")
            if not is_passing or attempt == TRIES:
                raise refusal(answer, act, self.project)
            time.sleep(RETRY.after(attempt))
        raise AssertionError("not reached")


def refusal(answer: google_rest.Answer, act: str, project: str) -> Refused:
    """A refusal in words, with the remedy for a missing permission and a disabled API."""
    problem = google_rest.problem_of(answer.data, _MAX_TEXT)
    message, reasons = problem.message, (*problem.reasons, *problem.details)
    if answer.status == 403 and any(reason in _DISABLED for reason in reasons):
        text = f"{message} Or: gcloud services enable --project {project} {_ALL}"
        return Refused(403, text, reasons)
    if answer.status in (401, 403):
        return Refused(answer.status, f"these credentials may not {act}: {message}")
    return Refused(answer.status, f"GCP refused {act} ({answer.status}): {message}", reasons)


_ALL = " ".join(f"{name}.googleapis.com" for name in google_rest.SERVICES)


def _scope_of(operation: Mapping[str, Any]) -> str:
    """Where an operation is: `zones/ZONE`, `regions/REGION` or `global`."""
    for kind in ("zone", "region"):
        if operation.get(kind):
            return f"{kind}s/{str(operation[kind]).rpartition('/')[2]}"
    return "global"
