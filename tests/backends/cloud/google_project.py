"""A project of GCP on loopback: Compute Engine's resources, and the APIs beside it.

It checks references between resources as GCP does, and compares every call and answer with the
discovery documents of Google.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.backends.cloud.discovery import Document
from tests.backends.cloud.gcp_rules import (
    architecture_of,
    architecture_of_image,
    disk_fault,
    disks_fault,
    image_fault,
)
from tests.backends.cloud.gcp_server import Fault, GcpServer, shown_operation
from tests.backends.cloud.google_services import Accounts, ResourceManager, Secrets, Storage
from tests.backends.cloud.google_watching import Logging, Monitoring

REGION, ZONES = "us-west1", ("us-west1-a", "us-west1-b")
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABELED = re.compile(r'labels\.([a-z0-9_-]+)(?::\*| = "([^"]*)")')
_FIELD = re.compile(r'(name|description) = "([^"]*)"')
_TYPES = {
    "n1-standard-2": 2,
    "n1-standard-4": 4,
    "n1-standard-32": 32,
    "e2-standard-2": 2,
    "e2-standard-4": 4,
    "g2-standard-8": 8,
    "n4-standard-4": 4,
    "c3-standard-4": 4,
    "c4-standard-8": 8,
    "c4a-standard-4": 4,
    "t2a-standard-4": 4,
}
_DISKS = ("pd-standard", "pd-balanced", "pd-ssd", "hyperdisk-balanced")


class GoogleProject(GcpServer):
    """One project, empty at first."""

    def __init__(self) -> None:
        super().__init__()
        self.resources: dict[str, dict[str, Any]] = {}
        """By path below the project, all but instances."""
        self.images = {
            "ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64",
            "ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-arm64",
            "deeplearning-platform-release/global/images/family/common-cu129-ubuntu-2404-nvidia-580",
        }
        self.quotas: dict[str, tuple[float, float]] = {}
        """Limit and usage by metric, where they differ from much."""
        self.changes_until_end: int | None = None
        """How many calls may still change something, before the caller's end."""
        self.console = ""
        """The console of every machine."""
        self.unreachable: list[str] = []
        """Zones such as `zones/a` whose resources GCP does not list at present."""
        self.address = ""
        """The address that is reserved; one of a documentation network if empty."""
        self.accounts = Accounts()
        policies = self.accounts.policies
        self.manager, self.secrets = ResourceManager(policies), Secrets(policies)
        self.storage = Storage(policies)
        self.logging, self.monitoring = Logging(), Monitoring()
        self._services = {
            "/storage/v1": self.storage,
            "/iam/v1": self.accounts,
            "/crm/v3": self.manager,
            "/secrets/v1": self.secrets,
            "/logging/v2": self.logging,
            "/monitoring/v3": self.monitoring,
        }
        self._documents = {at: Document(one.document) for at, one in self._services.items()}

    def variables(self) -> dict[str, str]:
        """Environment variables that lead clients here."""
        places = {
            "COMPUTE": "",
            "STORAGE": "/storage/v1",
            "IAM": "/iam/v1",
            "CLOUDRESOURCEMANAGER": "/crm/v3",
            "SECRETMANAGER": "/secrets/v1",
            "LOGGING": "/logging/v2",
            "MONITORING": "/monitoring/v3",
        }
        prefix = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"
        return {prefix + name: self.url + path for name, path in places.items()}

    def _act(self, method: str, target: str, body: bytes) -> Any:
        parts = urlsplit(target)
        is_reading = method == "GET" or parts.path.endswith((":getIamPolicy", "Permissions"))
        if self.changes_until_end is not None and not is_reading:
            if self.changes_until_end == 0:
                raise Fault(503, "the caller has come to its end", "backendError")
            self.changes_until_end -= 1
        path, is_upload = parts.path, parts.path.startswith("/upload/")
        for at, service in self._services.items():
            if path.removeprefix("/upload").startswith(at + "/"):
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                below = path.removeprefix("/upload").removeprefix(at)
                sent: Any = body if is_upload else json.loads(body) if body else None
                self.calls.append((method, path, None if is_upload else sent or query))
                return self._served(self._documents[at], service, method, below, query, sent)
        return super()._act(method, target, body)

    def _served(
        self, document: Document, service: Any, method: str, path: str, query: Any, sent: Any
    ) -> Any:
        name = document.method_of(method, path)
        if not name:
            self.differences.append(f"no method of the API: {method} {path}")
            raise Fault(404, f"{path} was not found")
        checked = {} if isinstance(sent, bytes) else sent
        self.differences += document.request_faults(name, path, query, checked)
        answer = service.answer(method, path, query, sent)
        if not isinstance(answer, bytes):
            self.differences += document.answer_faults(name, answer)
        return answer

    def _answer_to(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        project, _, rest = path.removeprefix("/projects/").partition("/")
        parts = rest.split("/")
        if method == "GET" and (fact := self._fact(project, parts, query)) is not None:
            return fact
        match (method, *parts):
            case ("POST", "zones", zone, "instances"):
                return self._add_instance(body, zone)
            case (_, "zones", _, "instances") | (_, "zones", _, "instances", "bulkInsert"):
                return super()._answer_to(method, path, query, body)
            case (_, "zones", zone, "instances", name, *verb):
                return self._instance(method, zone, unquote(name), verb, body)
            case ("POST", *at) if len(at) in (2, 3):
                return self._insert_into(project, "/".join(at), body)
        return self._of(method, rest, body)

    def _fact(self, project: str, parts: list[str], query: dict[str, str]) -> Any:
        """The answer about something that no caller makes; None for other paths."""
        match parts:
            case [""]:
                return {"name": project, "quotas": self._quotas()}
            case ["zones", zone]:
                return {"name": _known(zone, ZONES)}
            case ["regions", region]:
                zones = [f"https://x/projects/{project}/zones/{zone}" for zone in ZONES]
                name = _known(region, (REGION,))
                return {"name": name, "zones": zones, "quotas": self._quotas()}
            case ["zones", zone, "machineTypes", name]:
                gpus = [{"guestAcceleratorType": "nvidia-l4", "guestAcceleratorCount": 1}]
                found = {"name": _known(name, _TYPES), "guestCpus": _TYPES[name], "zone": zone}
                found["architecture"] = architecture_of(name)
                return {**found, "accelerators": gpus} if name.startswith("g2-") else found
            case ["zones", _, "diskTypes", name]:
                return {"name": _known(name, _DISKS)}
            case ["zones", _, "acceleratorTypes", name]:
                return {"name": _known(name, ("nvidia-tesla-t4", "nvidia-l4"))}
            case ["global", "images", *_]:
                path = "/".join([project, *parts])
                name = _known(path, self.images).rpartition("/")[2]
                return {"name": name, "architecture": architecture_of_image(name)}
            case ["aggregated", kind]:
                return self._aggregated(kind, query["filter"])
            case ["global", "networks"]:
                return {"items": self._listed("networks", query["filter"])}
            case [*_, "operations", name]:
                return self._poll(name)
        return None

    def _insert_into(self, project: str, collection: str, body: Any) -> dict[str, Any]:
        path = f"{collection}/{body['name']}"
        if not _NAME.fullmatch(body["name"]):
            raise Fault(400, f"Invalid value for field 'name': '{body['name']}'")
        if path in self.resources:
            raise Fault(409, f"The resource '{path}' already exists", "alreadyExists")
        if "firewalls" in path:
            self._must_exist(body["network"])
        if "sourceSnapshot" in body:
            self._must_exist(body["sourceSnapshot"])
        self.resources[path] = {**body, **_scope(path), "creationTimestamp": _now()}
        if "networks" in path:
            below = f"regions/{REGION}/subnetworks/{body['name']}"
            self.resources[below] = {"name": body["name"]}
            self.resources[path]["subnetworks"] = [
                f"https://x/compute/v1/projects/{project}/{below}"
            ]
        if "addresses" in path:
            self.resources[path]["address"] = self.address or f"203.0.113.{len(self.resources)}"
        return self._done("insert", path)

    def _of(self, method: str, path: str, body: Any) -> dict[str, Any]:
        """A call of one resource, or of a verb of it."""
        owner, _, verb = path.rpartition("/")
        if verb in ("createSnapshot", "resize") and owner in self.resources:
            disk = self.resources[owner]
            if verb == "resize":
                disk["sizeGb"] = body["sizeGb"]
            else:
                made = {**body, "diskSizeGb": disk["sizeGb"]}
                self.resources[f"global/snapshots/{body['name']}"] = made
            return self._done(verb, owner)
        if path not in self.resources:
            raise Fault(404, f"The resource '{path}' was not found", "notFound")
        if method == "GET":
            return self.resources[path]
        if method == "PATCH":
            self.resources[path] |= body
            return self._done("patch", path)
        self._must_be_free(path)
        del self.resources[path]
        if "networks" in path:
            del self.resources[f"regions/{REGION}/subnetworks/{verb}"]
        return self._done("delete", path)

    def _must_be_free(self, path: str) -> None:
        users: list[str] = [
            one["name"]
            for one in [*self.resources.values(), *self.instances.values()]
            if path in json.dumps([one.get("network"), one.get("networkInterfaces")])
            or path in json.dumps([disk.get("source") for disk in one.get("disks", ())])
        ]
        if users:
            text = f"The resource '{path}' is already being used by '{users[0]}'"
            raise Fault(400, text, "resourceInUseByAnotherResource")

    def _must_exist(self, path: str) -> None:
        if path.partition("/")[2].partition("/")[2] not in self.resources:
            raise Fault(404, f"The resource '{path}' was not found", "notFound")

    def _add_instance(self, body: dict[str, Any], zone: str) -> dict[str, Any]:
        if body["name"] in self.instances:
            raise Fault(409, f"The resource '{body['name']}' already exists", "alreadyExists")
        interface = body["networkInterfaces"][0]
        self._must_exist(interface["subnetwork"])
        for disk in body["disks"]:
            if "source" in disk:
                self._must_exist(disk["source"])
        machine_type = body["machineType"].rpartition("/")[2]
        self._must_take(machine_type, zone, body["disks"])
        if fault := image_fault(machine_type, body["disks"]):
            raise Fault(400, fault, "badRequest")
        for account in body["serviceAccounts"]:
            if account["email"] not in self.accounts.found:
                raise Fault(400, f"The resource '{account['email']}' was not found")
        address = interface["accessConfigs"][0]["natIP"]
        if address not in {one.get("address") for one in self.resources.values()}:
            raise Fault(400, f"The address {address} is not reserved")
        path = f"zones/{zone}/instances/{body['name']}"
        self.instances[body["name"]] = {
            **body,
            **_scope(path),
            "status": "RUNNING",
            "creationTimestamp": _now(),
            "metadata": {**body["metadata"], "fingerprint": "Zg==1"},
            "labelFingerprint": "Zg==1",
        }
        return self._done("insert", path)

    def _must_take(self, machine_type: str, zone: str, disks: list[dict[str, Any]]) -> None:
        """Refuse disks that a machine does not take, those that are there already among them."""
        faults = [disks_fault(machine_type, zone, disks)]
        for disk in disks:
            owned = self.resources.get("/".join(str(disk.get("source")).split("/")[-4:]), {})
            faults.append(disk_fault(machine_type, str(owned.get("type", "")).rpartition("/")[2]))
        if fault := next(filter(None, faults), ""):
            raise Fault(400, fault, "badRequest")

    def _instance(
        self, method: str, zone: str, name: str, verb: list[str], body: Any
    ) -> dict[str, Any]:
        found = self.instances.get(name)
        if found is None or found["zone"].rpartition("/")[2] != zone:
            raise Fault(404, f"The resource '{name}' was not found", "notFound")
        path = f"zones/{zone}/instances/{name}"
        match (method, *verb):
            case ("GET",):
                return found
            case ("GET", "serialPort"):
                return {"contents": self.console}
            case ("DELETE",):
                del self.instances[name]
            case (_, "stop"):
                found["status"] = "TERMINATED"
            case (_, "start"):
                found["status"] = "RUNNING"
            case (_, "setMetadata"):
                if body["fingerprint"] != found["metadata"]["fingerprint"]:
                    raise Fault(412, "Supplied fingerprint does not match", "conditionNotMet")
                found["metadata"] = {**body, "fingerprint": body["fingerprint"] + "1"}
            case (_, "setMachineType") if found["status"] == "TERMINATED":
                self._must_take(body["machineType"].rpartition("/")[2], zone, found["disks"])
                found["machineType"] = body["machineType"]
            case (_, "setMinCpuPlatform") if found["status"] == "TERMINATED":
                found["minCpuPlatform"] = body["minCpuPlatform"]
            case (_, "setLabels"):
                found["labels"] = body["labels"]
            case _:
                raise Fault(400, f"{name} cannot do {verb} while it is {found['status']}")
        return self._done("-".join(verb) or "delete", path)

    def _aggregated(self, kind: str, wanted: str) -> dict[str, Any]:
        empty = {"warning": {"code": "NO_RESULTS_ON_PAGE"}}
        scopes: dict[str, Any] = {"zones/europe-west1-b": empty}
        scopes |= {zone: {"warning": {"code": "UNREACHABLE"}} for zone in self.unreachable}
        for one in self._listed(kind, wanted):
            key = "region" if "region" in one else "zone"
            at = f"{key}s/{one[key].rpartition('/')[2]}"
            scopes.setdefault(at, {kind: []})[kind].append(one)
        return {"items": scopes}

    def _listed(self, kind: str, wanted: str) -> list[dict[str, Any]]:
        listed = [one for path, one in self.resources.items() if f"/{kind}/" in path]
        if kind == "instances":
            listed = list(self.instances.values())
        if found := _FIELD.fullmatch(wanted):
            return [one for one in listed if one.get(found[1]) == found[2]]
        labels = _LABELED.findall(wanted)
        assert labels, f"no filter of GCP's: {wanted}"
        return [
            one
            for one in listed
            if all(
                key in one.get("labels", {}) and value in ("", one["labels"][key])
                for key, value in labels
            )
        ]

    def _done(self, kind: str, path: str) -> dict[str, Any]:
        operation = self._operation(kind, list(self.problems))
        self.operations[operation["name"]] |= _scope(path)
        return shown_operation(self.operations[operation["name"]])

    def _quotas(self) -> list[dict[str, Any]]:
        metrics = ("CPUS", "NETWORKS", "FIREWALLS", "STATIC_ADDRESSES", "NVIDIA_T4_GPUS")
        plenty = dict.fromkeys((*metrics, "GPUS_ALL_REGIONS"), (100.0, 1.0))
        found = {**plenty, **self.quotas}
        return [
            {"metric": metric, "limit": limit, "usage": usage}
            for metric, (limit, usage) in found.items()
        ]


def _known(name: str, names: Any) -> str:
    if name not in names:
        raise Fault(404, f"The resource '{name}' was not found", "notFound")
    return name


def _scope(path: str) -> dict[str, str]:
    """The zone or region that a resource names."""
    kind, name, *_ = path.split("/")
    if kind == "global":
        return {}
    return {kind.removesuffix("s"): f"https://x/compute/v1/projects/p/{kind}/{name}"}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
