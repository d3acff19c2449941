"""Calls of Compute Engine's REST API. Each blocks for well under a minute."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from determined_master.domain.machines.offers import Refusal
from determined_master.ports.machines import ProviderFailed
from determined_wire import google_rest

TIMEOUT_S = 20.0
MAX_TEXT = 400
_TOO_MANY = ("rateLimitExceeded", "userRateLimitExceeded")
REFUSALS: Mapping[str, Refusal] = {
    "ZONE_RESOURCE_POOL_EXHAUSTED": "no room",
    "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS": "no room",
    "UNSUPPORTED_OPERATION": "no room",
    "QUOTA_EXCEEDED": "quota",
    "quotaExceeded": "quota",
}
"""Codes of operations and reasons of refused requests that concern one type and zone."""


class ComputeRefused(Exception):
    """GCP has refused a request permanently; `status` is that of HTTP."""

    def __init__(self, status: int, text: str, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.reasons = reasons


class Compute:
    """Compute Engine in one zone of one project."""

    def __init__(
        self, project: str, zone: str, token: Callable[[], str], base_url: str = ""
    ) -> None:
        """
        Args:
            project: its id.
            zone: such as us-west1-b.
            token: provides a token for each call; raises ProviderFailed.
            base_url: another server; by default the value of
                CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE, if it is set.
        """
        self._token = token
        self._project, self._base_url = project, base_url
        self.zone = zone

    def in_zone(self, zone: str) -> Compute:
        """The same project in another zone."""
        if not zone or zone == self.zone:
            return self
        return Compute(self._project, zone, self._token, self._base_url)

    def instances(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """The zone's instances with all of the labels. Raises Refused, ProviderFailed."""
        pages = self._pages(f"zones/{self.zone}/instances", labels)
        return [one for page in pages for one in page.get("items", ())]

    def instances_of_all_zones(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """The project's instances with all of the labels.

        Raises:
            ComputeRefused: GCP refuses it.
            ProviderFailed: GCP does not answer, or not for every zone: the list would lack
                machines that run.
        """
        instances: list[dict[str, Any]] = []
        for page in self._pages("aggregated/instances", labels):
            if silent := google_rest.unreachable(page):
                raise ProviderFailed(f"GCP: instances of {silent[0]} are not known at present")
            zones = page.get("items", {}).values()
            instances += [one for scope in zones for one in scope.get("instances", ())]
        return instances

    def insert(self, body: Mapping[str, Any], token: str) -> dict[str, Any]:
        """Request instances, once for each `token`, a UUID; return the operation."""
        return self._call("POST", "instances/bulkInsert", {"requestId": token}, body)

    def delete(self, name: str) -> dict[str, Any] | None:
        """Request an instance's end; return the operation, None without such an instance."""
        try:
            return self._call("DELETE", f"instances/{urllib.parse.quote(name, safe='')}")
        except ComputeRefused as error:
            if error.status == 404:
                return None
            raise

    def operation(self, name: str) -> dict[str, Any]:
        return self._call("GET", f"operations/{urllib.parse.quote(name, safe='')}")

    def _pages(self, path: str, labels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        condition = " AND ".join(f'(labels.{key} = "{value}")' for key, value in labels.items())
        return google_rest.pages(lambda query: self._request("GET", path, query), condition)

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        return self._request(method, f"zones/{self.zone}/{path}", query, body)

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        act = f"{method} {path}"
        path = f"projects/{self._project}/{path}"
        url = google_rest.url_of("compute", path, query, self._base_url)
        headers = {"Authorization": f"Bearer {self._token()}"}
        try:
            answer = google_rest.send(url, method, body, headers, TIMEOUT_S)
            if not answer.is_success:
                raise refusal(answer.status, answer.data, act)
            document: dict[str, Any] = json.loads(answer.data)
            return document
        except (google_rest.NoAnswer, ValueError) as error:
            text = google_rest.in_line(str(error), MAX_TEXT)
            raise ProviderFailed(f"GCP: {act} failed: {text}") from None


def refusal(status: int, body: bytes, act: str) -> Exception:
    """The error for a failed request: a refusal, or ProviderFailed when the outcome is unknown."""
    message, reasons, _ = google_rest.problem_of(body, MAX_TEXT)
    text = f"GCP: {act} failed, {status}: {message}"
    is_limited = status == 429 or any(reason in _TOO_MANY for reason in reasons)
    if status == 401 or status >= 500 or is_limited:
        return ProviderFailed(text)
    if status == 403:
        text += "; see the permissions in docs/provisioning.md, and the project's quotas"
    return ComputeRefused(status, text, tuple(reasons))


def refusal_of(codes: Iterable[str]) -> Refusal | None:
    """The answer about one type and zone, if the codes are all of that kind."""
    found = [REFUSALS.get(code) for code in codes]
    return found[0] if found and None not in found else None


def error_codes(operation: Mapping[str, Any]) -> list[str]:
    return [str(error.get("code", "")) for error in google_rest.errors_of(operation)]


def problems(operation: Mapping[str, Any]) -> list[str]:
    """The errors of an operation, in GCP's text."""
    return [_worded(error) for error in google_rest.errors_of(operation)]


def warnings(operation: Mapping[str, Any]) -> list[str]:
    return [_worded(warning) for warning in operation.get("warnings") or ()]


def _worded(problem: Mapping[str, Any]) -> str:
    message = google_rest.in_line(str(problem.get("message", "")), MAX_TEXT)
    return f"{problem.get('code', 'UNKNOWN')}: {message}"
