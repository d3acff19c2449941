"""Searchers of earlier releases: read in stored configurations, refused in new ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.domain.config.schema.containers import Field, ListOf, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import (
    Anything,
    Boolean,
    Integer,
    Number,
    OneOf,
    Text,
)
from determined_master.domain.config.sections.lengths import Length

_USE_ADAPTIVE = "use adaptive_asha with max_trials, time_metric and max_time"

REMEDIES: dict[str, str] = {
    "sync_halving": _USE_ADAPTIVE,
    "adaptive": _USE_ADAPTIVE,
    "adaptive_simple": _USE_ADAPTIVE,
    "pbt": _USE_ADAPTIVE,
    "custom": "create single trials from a script of your own, or use another searcher",
}
"""The replacement, by name."""

_LENGTH = Length(allows_bare_number=True)
_MAX_LENGTH = Field(_LENGTH, is_hidden_when_null=True)
_DIVISOR = Field(Number(above=1), 4)
_MODE = Field(OneOf(("aggressive", "standard", "conservative")), "standard")
_MAX_RUNGS = Field(Integer(at_least=1), 5)
_HALVING: dict[str, Field] = {
    "budget": Field(Length(), is_required=True),
    "divisor": _DIVISOR,
    "train_stragglers": Field(Boolean(), True),
    "max_length": _MAX_LENGTH,
}
_FIELDS: dict[str, dict[str, Field]] = {
    "sync_halving": {**_HALVING, "num_rungs": Field(Integer(at_least=1), is_required=True)},
    "adaptive": {
        **_HALVING,
        "bracket_rungs": Field(ListOf(Integer(at_least=1)), []),
        "mode": _MODE,
        "max_rungs": _MAX_RUNGS,
    },
    "adaptive_simple": {
        "max_trials": Field(Integer(at_least=1, at_most=2000), is_required=True),
        "mode": _MODE,
        "divisor": _DIVISOR,
        "max_rungs": _MAX_RUNGS,
        "max_length": _MAX_LENGTH,
    },
    "custom": {"unit": Field(OneOf(("batches", "records", "epochs")))},
    "pbt": {},
}
_TOLERANT = ("custom", "pbt")
"""Searchers that keep their unknown keys."""


class _TolerantObject(Object):
    """Keeps unknown keys."""

    def read(self, value: Any, at: str, report: ProblemReport) -> dict[str, Any] | None:
        known = {k: v for k, v in value.items() if k in self.fields}
        rest = {k: Anything().read(v, f"{at}.{k}", report) for k, v in value.items()}
        return {**rest, **(super().read(known, at, report) or {})}

    def complete(self, value: Any) -> Any:
        rest = {k: v for k, v in (value or {}).items() if k not in self.fields}
        return {**super().complete(value), **rest}


def variants(common: Mapping[str, Field]) -> dict[str, Object]:
    """By name; each has the common fields of all searchers and its own."""
    return {
        name: (_TolerantObject if name in _TOLERANT else Object)(
            {**common, "name": Field(Text(), is_required=True), **own}
        )
        for name, own in _FIELDS.items()
    }
