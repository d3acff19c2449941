"""The agents of a local cluster: how many, and whether they use GPUs, as the last start had it."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Optional

from determined.cli import errors
from determined_deploy.local import layout, specs

_FIRST = 1


@dataclasses.dataclass(frozen=True)
class KeptAgents:
    """The agents that `cluster-up` starts."""

    count: int = _FIRST
    with_gpus: bool = True


def chosen(cluster: layout.ClusterLayout, args: argparse.Namespace) -> KeptAgents:
    """The options of the command line, and for those that are missing the last start's.

    Raises:
        CliError: the number is negative.
    """
    if args.agents is not None and args.agents < 0:
        raise errors.CliError(f"--agents {args.agents}: the number must be 0 or more")
    last = _read(cluster) or KeptAgents()
    return KeptAgents(
        count=last.count if args.agents is None else args.agents,
        with_gpus=last.with_gpus if args.gpu is None else args.gpu,
    )


def keep(cluster: layout.ClusterLayout, agents: KeptAgents) -> None:
    """Store the agents of a start that succeeded."""
    specs.write_private(cluster.kept_agents, json.dumps(dataclasses.asdict(agents)) + "\n")


def _read(cluster: layout.ClusterLayout) -> Optional[KeptAgents]:
    """The agents of the last start; None where there was none, or its file is damaged."""
    try:
        document = json.loads(cluster.kept_agents.read_text())
        return KeptAgents(count=int(document["count"]), with_gpus=bool(document["with_gpus"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
