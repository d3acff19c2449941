"""The page with the states of experiments, trials and allocations, as Mermaid diagrams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from determined_master.domain import states

Edges = Iterable[tuple[str, str]]


def states_page() -> str:
    """The page, made from `domain/states.py`."""
    allocation = sorted(states.ALLOCATION_ORDER, key=lambda s: states.ALLOCATION_ORDER[s])
    return "\n".join(
        [
            "# States",
            "",
            "Made by `tools/generate_docs.py` from `domain/states.py`; do not edit.",
            "",
            "An event may take several of these steps at once.",
            "",
            "## Experiments",
            "",
            *_diagram(_edges(states.EXPERIMENT_NEXT)),
            "",
            "## Trials",
            "",
            "A closed trial opens again when its experiment continues.",
            "",
            *_diagram(_edges(states.TRIAL_NEXT)),
            "",
            "## Detached trials",
            "",
            "A program outside the cluster runs the trial and reports these states.",
            "",
            *_diagram(_edges(states.DETACHED_NEXT)),
            "",
            "## Allocations",
            "",
            "An allocation never goes back; it may skip states, as when it is killed early.",
            "",
            *_diagram(pairwise(allocation)),
            "",
        ]
    )


def _edges(following: Mapping[states.RunState, frozenset[states.RunState]]) -> Edges:
    return [(state, after) for state in following for after in sorted(following[state])]


def _diagram(edges: Edges) -> list[str]:
    return [
        "```mermaid",
        "stateDiagram-v2",
        *(f"  {before} --> {after}" for before, after in edges),
        "```",
    ]
