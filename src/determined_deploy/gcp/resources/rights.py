"""Service accounts of master and agents, and their rights, as narrow as their work allows."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, NamedTuple, Sequence

from determined.cli import errors
from determined.common._backoff import Backoff
from determined_deploy.gcp import names
from determined_deploy.gcp.calls import Calls, Refused
from determined_deploy.gcp.resources.policies import (
    Binding,
    Policy,
    all_but,
    with_bindings,
    without,
)

ROLES = ("master", "agent")
STARTS_MACHINES = "roles/compute.instanceAdmin.v1"
USES_ACCOUNT = "roles/iam.serviceAccountUser"
USES_OBJECTS = "roles/storage.objectAdmin"
READS_SECRET = "roles/secretmanager.secretAccessor"
SENDS_LOGS = ("roles/logging.logWriter", "roles/monitoring.metricWriter")
KNOWN_LIMIT_S = 120.0
BACKOFF = Backoff(0.5, 3.0)
WHEELS = "deploy"
"""The directory of the bucket that has the wheel, which the master's machine installs."""
_CONFLICT = 409


class Grant(NamedTuple):
    """Bindings that are added to the policy of a resource of a service."""

    service: str
    resource: str
    bindings: Sequence[Binding]


def grants(cluster_id: str, project: str, *, sends_logs: bool) -> List[Grant]:
    """The rights of master and agents: the master's on agents' machines are the project's.

    Args:
        cluster_id: the cluster.
        project: its id.
        sends_logs: whether the machines send logs and metrics, to all logs of the project.
    """
    emails = {role: names.email(cluster_id, role, project) for role in ROLES}
    master, agent = (f"serviceAccount:{emails[role]}" for role in ROLES)
    below = f"projects/{project}"
    bucket = names.bucket(cluster_id, project)
    objects = [
        Binding(USES_OBJECTS, [master]),
        Binding(USES_OBJECTS, [agent], all_but(bucket, WHEELS)),
    ]
    account = f"{below}/serviceAccounts/{emails['agent']}"
    secret = f"{below}/secrets/{names.of_cluster(cluster_id)}"
    whole = [Binding(STARTS_MACHINES, [master])]
    if sends_logs:
        whole += [Binding(role, [master, agent]) for role in SENDS_LOGS]
    return [
        Grant("cloudresourcemanager", below, whole),
        Grant("iam", account, [Binding(USES_ACCOUNT, [master])]),
        Grant("storage", f"b/{bucket}", objects),
        Grant("secretmanager", secret, [Binding(READS_SECRET, [master])]),
    ]


def account_body(cluster_id: str, role: str) -> Dict[str, Any]:
    """What makes a service account."""
    display = {"displayName": f"{names.mark(cluster_id)}: {role}"}
    return {
        "accountId": names.account_id(cluster_id, role),
        "serviceAccount": {**display, "description": names.mark(cluster_id)},
    }


class Rights:
    """The accounts and bindings of one cluster."""

    def __init__(self, calls: Calls, cluster_id: str) -> None:
        self._calls = calls
        self._cluster_id = cluster_id

    def make_accounts(self) -> None:
        """Make the service accounts that are missing. Raises CliError."""
        for role in ROLES:
            if self._calls.find("iam", self._account_path(role)) is None:
                print(f"  service account {self._email(role)}", flush=True)
                body = account_body(self._cluster_id, role)
                path = self._calls.in_project("serviceAccounts")
                self._calls.call("iam", "POST", path, body)

    def grant(self, *, sends_logs: bool) -> None:
        """Give master and agents their rights, and take those away that only logs need.

        Args:
            sends_logs: whether the machines send logs and metrics.

        Raises:
            CliError: GCP refuses a call.
        """
        if not sends_logs:
            members = self._members()
            self._change(self._of_project, lambda policy: without(policy, members, SENDS_LOGS))
        policies = {
            "cloudresourcemanager": self._of_project,
            "iam": self._of_account,
            "storage": self._of_bucket,
            "secretmanager": self._of_secret,
        }
        project = self._calls.project
        for one in grants(self._cluster_id, project, sends_logs=sends_logs):
            self._bind(policies[one.service], one.bindings)

    def revoke(self) -> None:
        """Take away the rights that outlive the cluster, and delete the accounts."""
        members = set(self._members())
        for policy_of in (self._of_project, self._of_bucket):
            try:
                self._change(policy_of, lambda policy: without(policy, members))
            except Refused as error:
                if error.status != 404:
                    raise
        for role in ROLES:
            if self._calls.find("iam", self._account_path(role)) is not None:
                self._calls.call("iam", "DELETE", self._account_path(role))
                print(f"  service account {self._email(role)}: deleted", flush=True)

    def _bind(self, policy_of: Any, bindings: Sequence[Binding]) -> None:
        """Add bindings. A new account is not known everywhere at once, so this repeats."""
        deadline = time.monotonic() + KNOWN_LIMIT_S
        for pause_s in BACKOFF.pauses():
            try:
                self._change(policy_of, lambda policy: with_bindings(policy, bindings))
                return
            except Refused as error:
                is_unknown = error.status == 400 and "does not exist" in str(error)
                if not is_unknown and error.status != 404:
                    raise
                if time.monotonic() > deadline:
                    raise errors.CliError(
                        f"{error}; repeat the command: GCP does not know the account yet"
                    ) from None
            time.sleep(pause_s)

    def _change(self, policy_of: Any, change: Callable[[Policy], Policy]) -> None:
        """Change a policy, again if somebody else has changed it since."""
        for attempt in range(5):
            read, write = policy_of()
            policy = read()
            changed = change(policy)
            if changed == policy:
                return
            try:
                write(changed)
                return
            except Refused as error:
                if error.status not in (_CONFLICT, 412) or attempt == 4:
                    raise
            time.sleep(BACKOFF.after(attempt + 1))

    def _of_project(self) -> Any:
        path = f"projects/{self._calls.project}"
        body = {"options": {"requestedPolicyVersion": 3}}
        return (
            lambda: self._calls.call("cloudresourcemanager", "POST", f"{path}:getIamPolicy", body),
            lambda policy: self._calls.call(
                "cloudresourcemanager", "POST", f"{path}:setIamPolicy", {"policy": policy}
            ),
        )

    def _of_account(self) -> Any:
        path = self._account_path("agent")
        query = {"options.requestedPolicyVersion": "3"}
        return (
            lambda: self._calls.call("iam", "POST", f"{path}:getIamPolicy", query=query),
            lambda policy: self._calls.call(
                "iam", "POST", f"{path}:setIamPolicy", {"policy": policy}
            ),
        )

    def _of_bucket(self) -> Any:
        path = f"b/{names.bucket(self._cluster_id, self._calls.project)}/iam"
        query = {"optionsRequestedPolicyVersion": "3"}
        return (
            lambda: self._calls.call("storage", "GET", path, query=query),
            lambda policy: self._calls.call("storage", "PUT", path, policy),
        )

    def _of_secret(self) -> Any:
        path = self._calls.in_project(f"secrets/{names.of_cluster(self._cluster_id)}")
        query = {"options.requestedPolicyVersion": "3"}
        return (
            lambda: self._calls.call("secretmanager", "GET", f"{path}:getIamPolicy", query=query),
            lambda policy: self._calls.call(
                "secretmanager", "POST", f"{path}:setIamPolicy", {"policy": policy}
            ),
        )

    def _members(self) -> List[str]:
        return [f"serviceAccount:{self._email(role)}" for role in ROLES]

    def _email(self, role: str) -> str:
        return names.email(self._cluster_id, role, self._calls.project)

    def _account_path(self, role: str) -> str:
        return self._calls.in_project(f"serviceAccounts/{self._email(role)}")
