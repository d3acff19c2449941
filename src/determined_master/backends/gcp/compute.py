"""Calls of Compute Engine's REST API. Each blocks for well under a minute."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from determined_master.domain.machines.offers import Refusal
from determined_master.ports.machines import ProviderFailed

BASE_URL = "https://compute.googleapis.com/compute/v1"
TIMEOUT_S = 20.0
PAGE = "500"
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
        given = base_url or os.environ.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", "")
        self._token = token
        self._project, self._base_url = project, base_url
        self.zone = zone
        self._root = f"{(given or BASE_URL).rstrip('/')}/projects/{project}"

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
        found: list[dict[str, Any]] = []
        for page in self._pages("aggregated/instances", labels):
            zones = page.get("items", {})
            silent = [*page.get("unreachables", ()), *_unreachable(zones)]
            if silent:
                raise ProviderFailed(f"GCP: instances of {silent[0]} are not known at present")
            found += [one for scope in zones.values() for one in scope.get("instances", ())]
        return found

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
        wanted = " AND ".join(f'(labels.{key} = "{value}")' for key, value in labels.items())
        query = {"filter": wanted, "maxResults": PAGE}
        while True:
            page = self._request("GET", path, query)
            yield page
            if not page.get("nextPageToken"):
                return
            query["pageToken"] = page["nextPageToken"]

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
        url = f"{self._root}/{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        headers = {"Authorization": f"Bearer {self._token()}"}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                found: dict[str, Any] = json.loads(answer.read())
                return found
        except urllib.error.HTTPError as error:
            with error:
                content = error.read(65536)
            raise refusal(error.code, content, f"{method} {path}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            text = " ".join(str(error).split())[:MAX_TEXT]
            raise ProviderFailed(f"GCP: {method} {path} failed: {text}") from None


def refusal(status: int, body: bytes, act: str) -> Exception:
    """The error for a failed request: a refusal, or ProviderFailed when the outcome is unknown."""
    try:
        details = json.loads(body)["error"]
        message = str(details["message"])
        reasons = [str(e.get("reason", "")) for e in details.get("errors", ())]
    except (ValueError, KeyError, TypeError, AttributeError):
        message, reasons = body.decode(errors="replace"), []
    text = f"GCP: {act} failed, {status}: {' '.join(message.split())[:MAX_TEXT]}"
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
    errors = (operation.get("error") or {}).get("errors") or ()
    return [str(error.get("code", "")) for error in errors]


def _unreachable(zones: Mapping[str, Any]) -> list[str]:
    warned = {name: scope.get("warning") or {} for name, scope in zones.items()}
    return [name for name, warning in warned.items() if warning.get("code") == "UNREACHABLE"]


def problems(operation: Mapping[str, Any]) -> list[str]:
    """The errors of an operation, in GCP's text."""
    errors = (operation.get("error") or {}).get("errors") or ()
    return [_worded(error) for error in errors]


def warnings(operation: Mapping[str, Any]) -> list[str]:
    return [_worded(warning) for warning in operation.get("warnings") or ()]


def _worded(problem: Mapping[str, Any]) -> str:
    words = " ".join(str(problem.get("message", "")).split())[:MAX_TEXT]
    return f"{problem.get('code', 'UNKNOWN')}: {words}"
