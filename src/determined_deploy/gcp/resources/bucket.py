"""The bucket of a cluster: checkpoints, TensorBoard files, and the wheel."""

from __future__ import annotations

import pathlib
from typing import Any, Dict

from determined.cli import errors
from determined_deploy.gcp import names
from determined_deploy.gcp.calls import Calls, Refused
from determined_deploy.gcp.options import GcpOptions


def body(options: GcpOptions, project: str) -> Dict[str, Any]:
    """What makes it: private, and with rights for the whole bucket alone."""
    return {
        "name": names.bucket(options.cluster_id, project),
        "location": options.region.upper(),
        "storageClass": "STANDARD",
        "labels": options.labels,
        "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": True},
            "publicAccessPrevention": "enforced",
        },
    }


class Bucket:
    """The bucket of one cluster."""

    def __init__(self, calls: Calls, cluster_id: str) -> None:
        self._calls = calls
        self._cluster_id = cluster_id
        self.name = names.bucket(cluster_id, calls.project)

    def exists(self) -> bool:
        """Whether it is there and the cluster's own.

        Raises:
            CliError: a bucket of this name belongs to somebody else, or GCP refuses the call.
        """
        try:
            bucket = self._calls.find("storage", f"b/{self.name}")
        except Refused as error:
            if error.status != 403:
                raise
            raise errors.CliError(
                f"the bucket {self.name} cannot be read, and may be somebody else's: {error}; "
                "choose another --cluster-id"
            ) from None
        if bucket is None:
            return False
        project = self._calls.call(
            "cloudresourcemanager", "GET", f"projects/{self._calls.project}"
        )
        is_ours = bucket.get("labels", {}).get(names.LABEL) == self._cluster_id
        if not is_ours or bucket.get("projectNumber") != names.last(str(project["name"])):
            raise errors.CliError(
                f"the bucket {self.name} exists and is no bucket of this cluster: choose another "
                "--cluster-id"
            )
        return True

    def make(self, options: GcpOptions) -> None:
        """Make it if it is missing; a bucket that an earlier cluster of the name left is used."""
        if self.exists():
            return
        print(f"  bucket {self.name}", flush=True)
        document = body(options, self._calls.project)
        self._calls.call("storage", "POST", "b", document, {"project": self._calls.project})

    def put_file(self, path: pathlib.Path, key: str) -> None:
        """Upload a file, also over one that is there: somebody may have changed it."""
        content = path.read_bytes()
        print(f"  the file {path.name}, {len(content) / 1e6:.1f} MB", flush=True)
        self._calls.upload(self.name, f"deploy/{key}", content)
