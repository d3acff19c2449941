"""Names of Kubernetes namespaces that are created for workspaces."""

from __future__ import annotations

import re
import unicodedata

_MAX_LENGTHS = {"workspace": 31, "release": 19, "cluster": 4, "id": 6}
_OTHER = re.compile(r"[^a-z0-9]+")


def auto_name(workspace: str, workspace_id: int, release: str, cluster_id: str) -> str:
    """The name of the namespace that is created for a workspace: always the same one.

    Args:
        workspace: its name; the beginning is kept as far as Kubernetes accepts it.
        workspace_id: makes it unique within this cluster.
        release: the default namespace of tasks.
        cluster_id: of this master; other masters may use the same Kubernetes cluster.

    Returns:
        A DNS label of at most 63 characters.
    """
    parts = (
        _clean(workspace)[: _MAX_LENGTHS["workspace"]],
        _clean(release)[: _MAX_LENGTHS["release"]],
        _clean(cluster_id)[: _MAX_LENGTHS["cluster"]],
        str(workspace_id)[-_MAX_LENGTHS["id"] :],
    )
    return "-".join(part.strip("-") for part in parts if part.strip("-"))


def _clean(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _OTHER.sub("-", plain.lower()).strip("-")
