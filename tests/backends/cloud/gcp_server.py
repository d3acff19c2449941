"""An emulator of Compute Engine on loopback: instances and operations of any project and zone.

It knows what the master asks for, checks it as GCP does, and refuses the rest. Every call and
every answer is compared with Google's discovery document; the fixture fails for what differs.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tests.backends.cloud.discovery import COMPUTE
from tests.backends.cloud.gcp_rules import disks_fault, image_fault
from tests.backends.cloud.http_servers import Quiet, serving

PAGE = 2
"""Instances of one answer: less than any test has."""
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9_-]{0,63}")
_FILTER = re.compile(r'\(labels\.([a-z0-9_-]+) = "([^"]*)"\)')


class Fault(Exception):
    """An error of the API."""

    def __init__(self, status: int, message: str, reason: str = "invalid") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class GcpServer:
    """One test's Compute Engine."""

    def __init__(self) -> None:
        self.url = ""
        self.token = "gcp-t0ken"
        """Which calls must show."""
        self.calls: list[tuple[str, str, Any]] = []
        """Method, path, and body or query."""
        self.instances: dict[str, dict[str, Any]] = {}
        self.operations: dict[str, dict[str, Any]] = {}
        self.room: int | None = None
        self.exhausted: dict[tuple[str, str], str] = {}
        """By zone and machine type: the code with which operations end that start nothing."""
        self.unreachable: list[str] = []
        """Zones that a list of the whole project lacks."""
        self.fault: Fault | None = None
        """The answer to every call."""
        self.refusal: Fault | None = None
        """What bulk inserts are answered with."""
        self.delete_refusal: Fault | None = None
        self.polls_until_done = 1
        """How often an operation must be asked about."""
        self.lost_answers = 0
        """So many next bulk inserts have their effect, and no answer."""
        self.problems: list[dict[str, str]] = []
        self.warnings: list[dict[str, str]] = []
        """What operations say in the end."""
        self.differences: list[str] = []
        """Where a call or an answer is not as the discovery document has it."""
        self._by_request: dict[str, str] = {}
        self._lock = threading.Lock()
        self._stop = contextlib.ExitStack()

    def bodies(self) -> list[dict[str, Any]]:
        """The bulk inserts that were asked for."""
        return [body for method, path, body in self.calls if path.endswith("/bulkInsert")]

    def set_status(self, name: str, status: str) -> None:
        """An instance is in another state."""
        self.instances[name]["status"] = status

    def stop(self) -> None:
        """Nobody is reached any more."""
        self._stop.close()

    def start(self) -> None:
        """Serve on a free port."""
        server = self

        class Handler(Quiet):
            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self._answer()

            def do_DELETE(self) -> None:
                self._answer()

            def do_PUT(self) -> None:
                self._answer()

            def do_PATCH(self) -> None:
                self._answer()

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    if self.headers.get("Authorization") != f"Bearer {server.token}":
                        raise Fault(401, "Request had invalid authentication credentials.")
                    if server.fault is not None:
                        raise server.fault
                    with server._lock:
                        found = server._act(self.command, self.path, body)
                    self.reply(
                        200, found if isinstance(found, bytes) else json.dumps(found).encode()
                    )
                except Fault as fault:
                    errors = [{"message": str(fault), "reason": fault.reason}]
                    error = {"code": fault.status, "message": str(fault), "errors": errors}
                    self.reply(fault.status, json.dumps({"error": error}).encode())

        self.url = self._stop.enter_context(serving(Handler))

    def _act(self, method: str, target: str, body: bytes) -> Any:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.calls.append((method, parts.path, json.loads(body) if body else query))
        name = COMPUTE.method_of(method, parts.path)
        if not name:
            self.differences.append(f"no method of the API: {method} {parts.path}")
            raise Fault(404, f"{parts.path} was not found")
        sent = json.loads(body) if body else None
        self.differences += COMPUTE.request_faults(name, parts.path, query, sent)
        answer = self._answer_to(method, parts.path, query, sent)
        self.differences += COMPUTE.answer_faults(name, answer)
        return answer

    def _answer_to(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        if re.fullmatch(r"/projects/[^/]+/aggregated/instances", path):
            return self._list_all(query)
        at = re.fullmatch(r"/projects/([^/]+)/zones/([^/]+)/(.+)", path)
        if at is None:
            raise Fault(404, f"{path} was not found")
        match (method, *at[3].split("/")):
            case ("GET", "instances"):
                return self._list(query, at[2])
            case ("POST", "instances", "bulkInsert"):
                operation = self._insert(body, query["requestId"], at[2])
                if self.lost_answers:
                    self.lost_answers -= 1
                    raise Fault(502, "The server encountered a temporary error.", "badGateway")
                return operation
            case ("DELETE", "instances", name):
                return self._delete(unquote(name), at[2])
            case ("GET", "operations", name):
                return self._poll(name)
        raise Fault(404, f"{method} {path} was not found")

    def _list_all(self, query: dict[str, str]) -> dict[str, Any]:
        """Of all zones, as a map of zones; pages have instances of several."""
        page = self._list(query, "")
        zones: dict[str, Any] = {"zones/europe-west1-b": {"warning": _nothing_here()}}
        for instance in page.pop("items", []):
            scope = zones.setdefault("zones/" + _last(instance["zone"]), {"instances": []})
            scope["instances"].append(instance)
        if self.unreachable:
            page["unreachables"] = self.unreachable
        return {**page, "kind": "compute#instanceAggregatedList", "items": zones}

    def _list(self, query: dict[str, str], zone: str) -> dict[str, Any]:
        wanted = dict(_FILTER.findall(query["filter"]))
        found = [
            instance
            for _, instance in sorted(self.instances.items())
            if all(instance["labels"].get(key) == value for key, value in wanted.items())
            and zone in ("", _last(instance["zone"]))
        ]
        start = int(query.get("pageToken", 0))
        page: dict[str, Any] = {"kind": "compute#instanceList"}
        if shown := found[start : start + PAGE]:
            page["items"] = shown
        if len(found) > start + PAGE:
            page["nextPageToken"] = str(start + PAGE)
        return page

    def _insert(self, body: dict[str, Any], request_id: str, zone: str) -> dict[str, Any]:
        if request_id in self._by_request:
            return shown_operation(self.operations[self._by_request[request_id]])
        if self.refusal is not None:
            raise self.refusal
        properties, names = body["instanceProperties"], list(body["perInstanceProperties"])
        self._check(properties, names, int(body["count"]))
        kind, disks = properties["machineType"], properties["disks"]
        if fault := disks_fault(kind, zone, disks) or image_fault(kind, disks):
            raise Fault(400, fault, "badRequest")
        started = names if self.room is None else names[: self.room]
        code = self.exhausted.get((zone, properties["machineType"]), "")
        if code:
            started = []
        if len(started) < int(body["minCount"]):
            started = []
        if self.room is not None:
            self.room -= len(started)
        for name in started:
            self.instances[name] = {
                **properties,
                "name": name,
                "zone": f"https://www.googleapis.com/compute/v1/projects/lab/zones/{zone}",
                "status": "PROVISIONING",
                "creationTimestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            }
        problems = list(self.problems)
        if len(started) < len(names):
            text = "The zone does not have enough resources available"
            problems.append({"code": code or "ZONE_RESOURCE_POOL_EXHAUSTED", "message": text})
        operation = self._operation("bulkInsert", problems)
        self._by_request[request_id] = operation["name"]
        return operation

    def _check(self, properties: dict[str, Any], names: list[str], count: int) -> None:
        if count != len(names):
            raise Fault(400, "count and perInstanceProperties must agree")
        for name in names:
            if not _NAME.fullmatch(name):
                raise Fault(400, f"Invalid value for field 'name': '{name}'")
            if name in self.instances:
                raise Fault(409, f"The resource '{name}' already exists", "alreadyExists")
        for value in properties["labels"].values():
            if not _LABEL.fullmatch(value):
                raise Fault(400, f"Invalid value for label: '{value}'")
        scheduling = properties["scheduling"]
        if scheduling["preemptible"] and scheduling.get("automaticRestart", True):
            raise Fault(400, "Preemptible instances cannot be automatically restarted")
        if not properties.get("networkInterfaces"):
            raise Fault(400, "At least one network interface is required")

    def _delete(self, name: str, zone: str) -> dict[str, Any]:
        if self.delete_refusal is not None:
            raise self.delete_refusal
        if name not in self.instances or _last(self.instances[name]["zone"]) != zone:
            raise Fault(404, f"The resource '{name}' was not found", "notFound")
        del self.instances[name]
        return self._operation("delete", list(self.problems))

    def _operation(self, kind: str, problems: list[dict[str, str]]) -> dict[str, Any]:
        name = f"operation-{len(self.operations)}"
        self.operations[name] = {
            "name": name,
            "operationType": kind,
            "status": "RUNNING",
            "polls": self.polls_until_done,
            "problems": problems,
        }
        return shown_operation(self.operations[name])

    def _poll(self, name: str) -> dict[str, Any]:
        operation = self.operations.get(name)
        if operation is None:
            raise Fault(404, f"The resource '{name}' was not found", "notFound")
        operation["polls"] -= 1
        if operation["polls"] <= 0:
            operation["status"] = "DONE"
            if operation["problems"]:
                operation["error"] = {"errors": operation["problems"]}
            if self.warnings:
                operation["warnings"] = self.warnings
        return shown_operation(operation)


def _last(url: str) -> str:
    return url.rpartition("/")[2]


def _nothing_here() -> dict[str, str]:
    return {"code": "NO_RESULTS_ON_PAGE", "message": "There are no results for this scope"}


def shown_operation(operation: dict[str, Any]) -> dict[str, Any]:
    """An operation without what the emulator notes for itself."""
    return {key: value for key, value in operation.items() if key not in ("polls", "problems")}


@pytest.fixture
def gcp_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GcpServer]:
    """A Compute Engine without instances."""
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/no/such/home")
    server = GcpServer()
    server.start()
    yield server
    server.stop()
    assert server.differences == []
