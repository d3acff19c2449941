"""The secret of a cluster in Secret Manager, which the master's account may read."""

from __future__ import annotations

import base64
import json
from typing import Any, Dict, Optional

from determined.cli import errors
from determined_deploy.gcp import names
from determined_deploy.gcp.calls import Calls
from determined_deploy.gcp.options import GcpOptions


def body(options: GcpOptions) -> Dict[str, Any]:
    """What makes it, without its members."""
    return {"replication": {"automatic": {}}, "labels": options.labels}


class GcpSecret:
    """The secret of one cluster."""

    def __init__(self, calls: Calls, cluster_id: str) -> None:
        self._calls = calls
        self._cluster_id = cluster_id
        self._path = calls.in_project(f"secrets/{names.of_cluster(cluster_id)}")

    def exists(self) -> bool:
        """Whether it is there and the cluster's own.

        Raises:
            CliError: a secret of this name is not one of a cluster.
        """
        metadata = self._calls.find("secretmanager", self._path)
        if metadata is None:
            return False
        if metadata.get("labels", {}).get(names.LABEL) != self._cluster_id:
            raise errors.CliError(
                f"the secret {names.of_cluster(self._cluster_id)} exists and is no secret of this "
                "cluster: choose another --cluster-id"
            )
        return True

    def read(self) -> Optional[Dict[str, str]]:
        """Its members; None without any. Raises CliError."""
        version = self._calls.find("secretmanager", f"{self._path}/versions/latest:access")
        if version is None:
            return None
        return dict(json.loads(base64.b64decode(version["payload"]["data"])))

    def write(self, members: Dict[str, str], options: GcpOptions) -> None:
        """Store the members, if they differ, and destroy the former ones. Raises CliError."""
        if not self.exists():
            print(f"  secret {names.of_cluster(self._cluster_id)}", flush=True)
            query = {"secretId": names.of_cluster(self._cluster_id)}
            path = self._calls.in_project("secrets")
            self._calls.call("secretmanager", "POST", path, body(options), query)
        former = self._calls.find("secretmanager", f"{self._path}/versions/latest")
        if former is not None and self.read() == members:
            return
        data = base64.b64encode(json.dumps(members).encode()).decode()
        added = {"payload": {"data": data}}
        self._calls.call("secretmanager", "POST", f"{self._path}:addVersion", added)
        if former is not None:
            # Each version costs, and holds passwords that were changed.
            path = f"{self._path}/versions/{names.last(str(former['name']))}"
            self._calls.call("secretmanager", "POST", f"{path}:destroy", {})

    def delete(self) -> None:
        """Remove it; a restored database keeps the passwords of its users."""
        if self.exists():
            self._calls.call("secretmanager", "DELETE", self._path)
            print(f"  secret {names.of_cluster(self._cluster_id)}: deleted", flush=True)
