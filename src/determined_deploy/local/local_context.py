"""The context of a local cluster: `det` and the SDK use the cluster while it is up."""

from __future__ import annotations

import contextlib
from typing import Optional

from determined.cli import declare
from determined.common import master_contexts
from determined_deploy.local import layout


def enter(cluster: layout.ClusterLayout) -> Optional[str]:
    """Make the cluster the default of commands; the DET_MASTER that overrides it, or None.

    Contexts that cannot be changed cause a warning: the cluster is up.
    """
    address = cluster.address.read_text()
    try:
        master_contexts.ContextStore().put(_name(cluster), address, is_used=True)
        default = master_contexts.default_master()
    except (master_contexts.ContextError, OSError) as error:
        declare.warn(f"commands do not use the cluster by default: {error}; use det -m {address}")
        return None
    return default.address if default.source == "DET_MASTER" else None


def leave(cluster: layout.ClusterLayout) -> None:
    """Remove the context; commands use the one before it."""
    with contextlib.suppress(master_contexts.ContextError, OSError):
        master_contexts.ContextStore().remove(_name(cluster))


def _name(cluster: layout.ClusterLayout) -> str:
    """Begins with `local`, since users choose names for their contexts, too."""
    return "local" if cluster.cluster == "determined" else f"local-{cluster.cluster}"[:64]
