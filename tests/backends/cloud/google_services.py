"""Emulators of the APIs beside Compute Engine that `det deploy gcp` calls, in memory.

Each takes a method of HTTP, the path below its address, parameters and a body, and gives an answer
or raises `Fault`. `google_project.py` serves them and compares all calls with the documents.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import unquote

from tests.backends.cloud.gcp_server import Fault

NUMBER = "415104041262"
"""Of the project."""
Query = dict[str, str]
_ASKED_VERSION = "options.requestedPolicyVersion"
_ACCOUNT = re.compile(r"[a-z]([-a-z0-9]{4,28}[a-z0-9])")
_CONDITION = re.compile(r'(!?)resource\.name\.startsWith\("([^"]*)"\)')
"""The conditions that this emulator can evaluate."""


class Policies:
    """Policies of resources, with the check of their members and of their etags."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._version = 0
        self.of: dict[str, dict[str, Any]] = {}
        """By resource."""

    def get(self, resource: str, version: str | int = 3) -> dict[str, Any]:
        """The policy; empty at first. Before version 3 a conditional role has another name."""
        found = self.of.setdefault(resource, {"etag": "AAA=", "version": 1})
        if int(version) >= 3 or not any(map(condition_of, found.get("bindings", ()))):
            return found
        bindings = [
            {"role": f"{one['role']}_withcond_1", "members": one["members"]}
            if condition_of(one)
            else one
            for one in found["bindings"]
        ]
        return {**found, "version": 1, "bindings": bindings}

    def put(self, resource: str, policy: dict[str, Any]) -> dict[str, Any]:
        """Replace it. A stale etag and a new account that is not known yet are refused."""
        if policy.get("etag") != self.get(resource)["etag"]:
            raise Fault(409, "There were concurrent policy changes.", "aborted")
        for one in policy.get("bindings", ()):
            for member in one["members"]:
                self._accounts.check(member)
            if (condition := condition_of(one)) and policy.get("version") != 3:
                raise Fault(400, "Conditions need the version 3 of a policy.", "badRequest")
            if condition and not _CONDITION.fullmatch(condition):
                raise Fault(400, f"The condition {condition} is no expression.", "badRequest")
        self._version += 1
        etag = base64.b64encode(f"v{self._version}".encode()).decode()
        self.of[resource] = {**policy, "etag": etag}
        return self.of[resource]

    def gives(self, resource: str, role: str, email: str, name: str) -> bool:
        """Whether an account has a role of a resource for something of that name in it."""
        return any(
            one["role"] == role
            and f"serviceAccount:{email}" in one["members"]
            and _holds(condition_of(one), name)
            for one in self.get(resource).get("bindings", ())
        )


def condition_of(binding: dict[str, Any]) -> str:
    """The expression of a binding; empty for none."""
    return str((binding.get("condition") or {}).get("expression", ""))


def _holds(condition: str, name: str) -> bool:
    found = _CONDITION.fullmatch(condition)
    return found is None or name.startswith(found[2]) is (found[1] == "")


class Accounts:
    """Service accounts, by email. The IAM API."""

    document: ClassVar[str] = "iam_v1"

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self.unknown = 1
        """How often policies do not know a new account."""
        self._waits: dict[str, int] = {}
        self.policies = Policies(self)

    def check(self, member: str) -> None:
        """Raise Fault for a member that does not exist, or not yet."""
        kind, _, email = member.partition(":")
        if kind != "serviceAccount":
            return
        if email not in self.found or self._waits[email] > 0:
            self._waits[email] = self._waits.get(email, 1) - 1
            raise Fault(400, f"Service account {email} does not exist.", "badRequest")

    def answer(self, method: str, path: str, query: Query, body: Any) -> Any:
        match (method, *path.strip("/").split("/")):
            case ("POST", "projects", project, "serviceAccounts"):
                return self._create(project, body)
            case (_, "projects", _, "serviceAccounts", last):
                email, _, verb = unquote(last).partition(":")
                if email not in self.found:
                    raise Fault(404, f"Unknown service account {email}", "notFound")
                if verb == "getIamPolicy":
                    return self.policies.get(email, query.get(_ASKED_VERSION, 1))
                if verb == "setIamPolicy":
                    return self.policies.put(email, body["policy"])
                return self.found.pop(email) and {} if method == "DELETE" else self.found[email]
        raise Fault(404, f"{method} {path} was not found")

    def _create(self, project: str, body: Any) -> dict[str, Any]:
        if not _ACCOUNT.fullmatch(body["accountId"]):
            raise Fault(400, f"Invalid account id {body['accountId']}")
        email = f"{body['accountId']}@{project}.iam.gserviceaccount.com"
        if email in self.found:
            raise Fault(409, f"Service account {body['accountId']} already exists", "conflict")
        name = f"projects/{project}/serviceAccounts/{email}"
        self.found[email] = {**body["serviceAccount"], "name": name, "email": email}
        self._waits[email] = self.unknown
        return self.found[email]


class ResourceManager:
    """The project itself, and the permissions of the caller."""

    document: ClassVar[str] = "cloudresourcemanager_v3"

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self.lacking: Sequence[str] = ()
        """Permissions that the caller does not have."""
        self.has_nothing = False

    def answer(self, method: str, path: str, query: Query, body: Any) -> Any:
        name, _, verb = path.strip("/").removeprefix("projects/").partition(":")
        match verb:
            case "":
                return {"name": f"projects/{NUMBER}", "projectId": name, "state": "ACTIVE"}
            case "testIamPermissions":
                if len(body["permissions"]) > 100:
                    raise Fault(400, "at most 100 permissions")
                held = [one for one in body["permissions"] if one not in self.lacking]
                return {} if self.has_nothing else {"permissions": held}
            case "getIamPolicy":
                version = body["options"]["requestedPolicyVersion"]
                return self._policies.get(f"projects/{name}", version)
            case "setIamPolicy":
                return self._policies.put(f"projects/{name}", body["policy"])
        raise Fault(404, f"{path} was not found")


class Secrets:
    """Secret Manager: secrets by name, each with its versions."""

    document: ClassVar[str] = "secretmanager_v1"

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self.found: dict[str, dict[str, Any]] = {}
        self.versions: dict[str, list[str | None]] = {}
        """Data of the versions by secret; None for a destroyed one."""

    def answer(self, method: str, path: str, query: Query, body: Any) -> Any:
        parts = path.strip("/").split("/")
        if (method, len(parts)) == ("POST", 3):
            return self._create(f"{'/'.join(parts)}/{query['secretId']}", body)
        name, _, verb = "/".join(parts[:4]).partition(":")
        if name not in self.found:
            raise Fault(404, f"Secret [{name}] not found.", "notFound")
        if len(parts) == 6:
            return self._version(name, *parts[5].partition(":")[::2])
        match (method, verb):
            case ("GET", ""):
                return self.found[name]
            case ("DELETE", ""):
                del self.found[name], self.versions[name]
                return {}
            case (_, "addVersion"):
                self.versions[name].append(body["payload"]["data"])
                return {"name": f"{name}/versions/{len(self.versions[name])}", "state": "ENABLED"}
            case (_, "getIamPolicy"):
                return self._policies.get(name, query.get(_ASKED_VERSION, 1))
            case (_, "setIamPolicy"):
                return self._policies.put(name, body["policy"])
        raise Fault(404, f"{method} {path} was not found")

    def _create(self, name: str, body: Any) -> dict[str, Any]:
        if name in self.found:
            raise Fault(409, f"Secret [{name}] already exists.", "alreadyExists")
        self.found[name], self.versions[name] = {**body, "name": name}, []
        return self.found[name]

    def _version(self, name: str, number: str, verb: str) -> dict[str, Any]:
        known = self.versions[name]
        place = len(known) if number == "latest" else int(number)
        if not 0 < place <= len(known):
            raise Fault(404, f"Secret Version [{name}/versions/{number}] not found.", "notFound")
        data, shown = known[place - 1], f"{name}/versions/{place}"
        if verb == "destroy":
            known[place - 1] = None
            return {"name": shown, "state": "DESTROYED"}
        if verb == "access":
            if data is None:
                raise Fault(400, f"{shown} is in DESTROYED state.", "failedPrecondition")
            return {"name": shown, "payload": {"data": data}}
        return {"name": shown, "state": "DESTROYED" if data is None else "ENABLED"}


class Storage:
    """Buckets and their objects, by the JSON API."""

    document: ClassVar[str] = "storage_v1"

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self.buckets: dict[str, dict[str, Any]] = {}
        self.objects: dict[tuple[str, str], bytes] = {}
        self.refusals = 0
        """How often a machine is refused an object, since a new right is not known yet."""
        self.foreign: set[str] = set()
        """Names of buckets that others have."""

    def answer(self, method: str, path: str, query: Query, body: Any) -> Any:
        match (method, *path.strip("/").split("/")):
            case ("POST", "b"):
                return self._create(body)
            case (_, "b", bucket, *rest):
                if bucket in self.foreign:
                    raise Fault(403, "does not have storage.buckets.get access", "forbidden")
                if bucket not in self.buckets:
                    raise Fault(404, "The specified bucket does not exist.", "notFound")
                return self._below(method, bucket, rest, query, body)
        raise Fault(404, f"{method} {path} was not found")

    def may_use(self, email: str, bucket: str, name: str) -> bool:
        """Whether an account may read, write and delete an object."""
        resource = f"projects/_/buckets/{bucket}/objects/{name}"
        return self._policies.gives(bucket, "roles/storage.objectAdmin", email, resource)

    def _create(self, body: Any) -> dict[str, Any]:
        name = body["name"]
        if name in self.buckets or name in self.foreign:
            raise Fault(409, "The requested bucket name is not available.", "conflict")
        self.buckets[name] = {**body, "kind": "storage#bucket", "projectNumber": NUMBER}
        return self.buckets[name]

    def _below(self, method: str, bucket: str, rest: list[str], query: Query, body: Any) -> Any:
        match (method, *rest):
            case ("GET",):
                return self.buckets[bucket]
            case ("GET", "iam"):
                version = query.get("optionsRequestedPolicyVersion", 1)
                return {"kind": "storage#policy", **self._policies.get(bucket, version)}
            case ("PUT", "iam"):
                access = self.buckets[bucket]["iamConfiguration"]["uniformBucketLevelAccess"]
                if any(map(condition_of, body.get("bindings", ()))) and not access["enabled"]:
                    raise Fault(412, "Conditions need uniform bucket-level access.", "conditions")
                return self._policies.put(bucket, body)
            case ("POST", "o"):
                self.objects[bucket, query["name"]] = body
                return {"bucket": bucket, "name": query["name"], "size": str(len(body))}
            case ("GET", "o", name):
                content = self.objects.get((bucket, unquote(name)))
                if content is None:
                    raise Fault(404, f"No such object: {bucket}/{unquote(name)}", "notFound")
                if query.get("alt") == "media" and self.refusals:
                    self.refusals -= 1
                    raise Fault(403, "does not have storage.objects.get access", "forbidden")
                if query.get("alt") == "media":
                    return content
                return {"bucket": bucket, "name": unquote(name), "size": str(len(content))}
        raise Fault(404, f"{method} b/{bucket}/{'/'.join(rest)} was not found")
