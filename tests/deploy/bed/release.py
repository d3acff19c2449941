"""What a release of the chart needs on a test bed beside the values that anybody writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.deploy.bed import images
from tests.deploy.bed.services import Kubectl, routed

Json = dict[str, Any]


class Place(NamedTuple):
    """Where a release is installed, and the addresses that lead to its Services."""

    release: str
    namespace: str
    root: Path
    """A directory of the node with the files of the database and the checkpoints."""
    master: str
    database: str

    @property
    def services(self) -> Mapping[str, str]:
        """Addresses by Service."""
        return {
            f"determined-db-service-{self.release}": self.database,
            f"determined-master-service-{self.release}": self.master,
        }

    def values(self) -> Json:
        """For a small node without a registry, GPUs, storage classes, kube-proxy and DNS."""
        name = f"determined-db-service-{self.release}.{self.namespace}.svc"
        return {
            "imagePullPolicy": "Never",
            "defaultImages": {"postgreSQL": images.POSTGRES},
            "slotType": "cpu",
            "slotResourceRequests": {"cpu": 0.25},
            "masterCpuRequest": 0.25,
            "masterMemRequest": "512Mi",
            "determinedMasterHost": self.master,
            "determinedMasterPort": 8080,
            "master": {"hostAliases": [{"ip": self.database, "hostnames": [name]}]},
            "db": {
                "cpuRequest": 0.1,
                "memRequest": "256Mi",
                "storageClassName": self._volume,
                "storageSize": "1Gi",
            },
            "checkpointStorage": {
                "type": "shared_fs",
                "bucket": None,
                "hostPath": str(self.root / "checkpoints"),
            },
        }

    @contextmanager
    def prepared(self, kubectl: Kubectl) -> Iterator[None]:
        """A volume for the database, and ways to the Services; both are gone at the end."""
        self.root.chmod(0o711)
        for name in ("volume", "checkpoints"):
            (self.root / name).mkdir()
            (self.root / name).chmod(0o777)
        kubectl("apply", "-f", "-", typed=json.dumps(self._persistent_volume()))
        try:
            with routed(kubectl, self.namespace, self.services):
                yield
        finally:
            kubectl("delete", "persistentvolume", self._volume, "--wait=false")

    @property
    def _volume(self) -> str:
        return f"{self.namespace}-{self.root.name}".lower().replace("_", "-")

    def _persistent_volume(self) -> Json:
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": self._volume},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": self._volume,
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": str(self.root / "volume")},
            },
        }
