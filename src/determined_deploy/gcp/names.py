"""Names, labels and marks of a cluster's resources: `down` and `list` find them by these."""

from __future__ import annotations

import hashlib
from typing import Any, Dict

LABEL = "determined-cluster-id"
"""The label of all resources that have labels; its value is the cluster's name."""
RULES = ("to-master", "to-agents", "agents-to-master", "in-cluster")
"""The ends of the names of a cluster's firewall rules."""
USES_NETWORK = "roles/compute.networkUser"
"""The role that a master needs in a project that shares its network, to launch agents there."""
MAX_ACCOUNT, MAX_BUCKET = 30, 63


def of_cluster(cluster_id: str, what: str = "") -> str:
    """The name of a resource, such as `determined-lab-master`."""
    return f"determined-{cluster_id}-{what}" if what else f"determined-{cluster_id}"


def mark(cluster_id: str) -> str:
    """The description of resources that have no labels."""
    return f"determined cluster {cluster_id}"


def account_id(cluster_id: str, role: str) -> str:
    """The id of a service account; a long name of a cluster is replaced by its hash."""
    whole = f"det-{cluster_id}-{role}"
    return whole if len(whole) <= MAX_ACCOUNT else f"det-{_hash(cluster_id)}-{role}"


def email(cluster_id: str, role: str, project: str) -> str:
    """The address of a service account.

    Args:
        cluster_id: the cluster.
        role: `master` or `agent`.
        project: its id; that of an organisation's domain is `DOMAIN:ID`.
    """
    domain, colon, name = project.rpartition(":")
    place = f"{name}.{domain}" if colon else project
    return f"{account_id(cluster_id, role)}@{place}.iam.gserviceaccount.com"


def bucket(cluster_id: str, project: str) -> str:
    """The name of the bucket: names are shared by all projects of GCP, so it has the project's."""
    whole = f"{project.replace(':', '-').replace('.', '-')}-{of_cluster(cluster_id)}"
    if len(whole) <= MAX_BUCKET:
        return whole
    return f"determined-{_hash(project + '/' + cluster_id)}"


def last(url: str) -> str:
    """The name of a resource from its URL."""
    return url.rpartition("/")[2]


def network_of(machine: Dict[str, Any]) -> str:
    """The path of the network of a machine, which GCP answers as a URL."""
    url = str(machine["networkInterfaces"][0].get("network", ""))
    return url[url.find("projects/") :] if "projects/" in url else url


def project_of(path: str) -> str:
    """The project of a path such as `projects/PROJECT/global/networks/NAME`."""
    return path.split("/")[1] if path.startswith("projects/") else ""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
