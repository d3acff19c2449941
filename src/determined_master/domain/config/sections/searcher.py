"""Searchers: which trials an experiment makes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import msgspec

from determined_master.domain.config.schema.containers import Field, ListOf, Object, Tagged
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import Boolean, Integer, Number, OneOf, Text
from determined_master.domain.config.sections import removed_searchers
from determined_master.domain.config.sections.lengths import Length


class Common(msgspec.Struct, frozen=True, kw_only=True):
    """The keys that every searcher has, and what its search needs of the master.

    Every searcher sets the three class variables; a test holds that.
    """

    wants_validations: ClassVar[bool]
    """Whether the search decides on validations; the others only count ends of trials."""
    is_multitrial: ClassVar[bool]
    """Whether it may make more than one trial."""
    continues_with: ClassVar[Literal["all", "incomplete", "none"]]
    """The trials with which an ended search can be continued."""

    metric: str
    """Name of the validation metric that trials are judged by."""
    smaller_is_better: bool = True
    source_trial_id: int | None = None
    """Every trial starts from this trial's latest checkpoint."""
    source_checkpoint_uuid: str | None = None
    """Every trial starts from this checkpoint, unless `source_trial_id` is given."""


class Single(Common, frozen=True, kw_only=True):
    """One trial."""

    wants_validations = False
    is_multitrial = False
    continues_with = "all"


class Random(Common, frozen=True, kw_only=True):
    """Trials at random points."""

    wants_validations = False
    is_multitrial = True
    continues_with = "incomplete"

    max_trials: int
    max_concurrent_trials: int = 16
    """0 means all at once, here and in the other searchers."""


class Grid(Common, frozen=True, kw_only=True):
    """A trial at every point of a lattice."""

    wants_validations = False
    is_multitrial = True
    continues_with = "incomplete"

    max_concurrent_trials: int = 16


class AdaptiveAsha(Common, frozen=True, kw_only=True):
    """Several successive-halving searches side by side.

    `max_time` is in units of `time_metric`; both are None only in configurations stored by
    versions that did not have them.
    """

    wants_validations = True
    is_multitrial = True
    continues_with = "none"

    max_trials: int
    max_concurrent_trials: int = 16
    max_time: int | None = None
    time_metric: str | None = None
    mode: Literal["aggressive", "standard", "conservative"] = "standard"
    divisor: float = 4
    max_rungs: int = 5
    bracket_rungs: tuple[int, ...] = ()
    """Numbers of rungs of the brackets; when given, `mode` and `max_rungs` do not count."""


class AsyncHalving(Common, frozen=True, kw_only=True):
    """One successive-halving search; `max_time` and `time_metric` as in `AdaptiveAsha`."""

    wants_validations = True
    is_multitrial = True
    continues_with = "none"

    max_trials: int
    num_rungs: int
    max_concurrent_trials: int = 16
    max_time: int | None = None
    time_metric: str | None = None
    divisor: float = 4


class Removed(Common, frozen=True, kw_only=True):
    """A method of earlier releases, or one with too little stored to continue."""

    wants_validations = False
    is_multitrial = True
    continues_with = "none"

    name: str


SearcherConfig = Single | Random | Grid | AdaptiveAsha | AsyncHalving | Removed

_ALIASES = {"asha": "async_halving"}
_TYPES: dict[str, type[SearcherConfig]] = {
    "single": Single,
    "random": Random,
    "grid": Grid,
    "adaptive_asha": AdaptiveAsha,
    "async_halving": AsyncHalving,
}


def searcher_type(name: str) -> type[SearcherConfig]:
    """The type of a searcher by its stored name."""
    return _TYPES.get(_ALIASES.get(name, name), Removed)


def typed_searcher(config: Mapping[str, Any]) -> SearcherConfig:
    """The typed form of a completed `searcher` section, also of one that was stored long ago."""
    kind = searcher_type(config["name"])
    known = {f.name for f in msgspec.structs.fields(kind)}
    return msgspec.convert({k: v for k, v in config.items() if k in known}, kind, strict=False)


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def _is_uuid(text: str) -> str | None:
    return None if _UUID.fullmatch(text) else f'must be the UUID of a checkpoint, found "{text}"'


_EXAMPLE_TIME = 100
HALVING = ("adaptive_asha", "async_halving")
_NO_LENGTH = "has no effect on the search: it only sets how long trial classes train"
_MAX_TRIALS = Field(Integer(at_least=1), is_required=True, doc="Trials in all.")
_CONCURRENT = Field(Integer(at_least=0), 16, "Trials at once; 0 for no limit.")
_DIVISOR = Field(Number(above=1), 4, "One of this many trials continues at each rung.")
_TIME = {
    "time_metric": Field(
        Text(), doc="Metric that measures a trial's progress, such as `batches`."
    ),
    "max_time": Field(Integer(at_least=1), doc="Value of the time metric of a full training."),
}
_MAX_LENGTH = Field(
    Length(allows_bare_number=True), is_hidden_when_null=True, no_effect=_NO_LENGTH
)
_MAX_LENGTH_WITH_UNIT = Field(Length(at_least=1), is_hidden_when_null=True, no_effect=_NO_LENGTH)
_STOP_ONCE = Field(
    Boolean(),
    is_hidden_when_null=True,
    no_effect="has no effect: a stopped trial is never resumed",
)

COMMON: dict[str, Field] = {
    "name": Field(Text(), is_required=True, doc="The search method."),
    "metric": Field(Text(), is_required=True, doc="Validation metric to judge trials by."),
    "smaller_is_better": Field(Boolean(), True, "Whether a smaller metric is better."),
    "source_trial_id": Field(Integer(at_least=0), doc="Start from this trial's checkpoint."),
    "source_checkpoint_uuid": Field(Text(_is_uuid), doc="Start from this checkpoint."),
    "max_length": _MAX_LENGTH,
}

_VARIANTS: dict[str, dict[str, Field]] = {
    "single": {},
    "random": {"max_trials": _MAX_TRIALS, "max_concurrent_trials": _CONCURRENT},
    "grid": {"max_concurrent_trials": _CONCURRENT},
    "adaptive_asha": {
        "max_trials": _MAX_TRIALS,
        "max_concurrent_trials": _CONCURRENT,
        **_TIME,
        "mode": Field(
            OneOf(("aggressive", "standard", "conservative")),
            "standard",
            "How soon trials are stopped.",
        ),
        "divisor": _DIVISOR,
        "max_rungs": Field(Integer(at_least=1), 5, "Rungs of the largest bracket at most."),
        "bracket_rungs": Field(
            ListOf(Integer(at_least=1)), [], "Rungs of each bracket; replaces mode and max_rungs."
        ),
        "stop_once": _STOP_ONCE,
    },
    "async_halving": {
        "max_trials": _MAX_TRIALS,
        "num_rungs": Field(Integer(at_least=1), is_required=True, doc="Rungs of the one bracket."),
        "max_concurrent_trials": _CONCURRENT,
        **_TIME,
        "divisor": _DIVISOR,
        "stop_once": _STOP_ONCE,
        "max_length": _MAX_LENGTH_WITH_UNIT,
    },
}

SEARCHER = Tagged(
    tag="name",
    common=COMMON,
    variants={name: Object({**COMMON, **own}) for name, own in _VARIANTS.items()},
    aliases=_ALIASES,
    removed=removed_searchers.REMEDIES,
)

STORED_SEARCHER = replace(
    SEARCHER,
    variants={**SEARCHER.variants, **removed_searchers.variants(COMMON)},
    removed={},
)
"""Includes the methods of earlier releases, which only stored configurations may name."""


def check_time(searcher: Mapping[str, Any], at: str, report: ProblemReport) -> None:
    """Report a halving search without the length of a full training.

    Rungs cannot be placed without both values. The older `max_length` is not enough: trials may
    not report its unit.
    """
    if searcher.get("name") not in HALVING:
        return
    missing = [key for key in ("max_time", "time_metric") if searcher.get(key) is None]
    if not missing or any(report.has_problem_at(f"{at}.{key}") for key in missing):
        return
    unit, length = unit_and_number(searcher.get("max_length"))
    remedy = f"write `time_metric: {unit}` and `max_time: {length}`"
    if searcher.get("max_length") is not None:
        remedy += " in place of max_length"
    report.problem(
        at,
        f"searcher requires `max_time` and `time_metric`, missing: {', '.join(missing)}; {remedy}",
        is_gap=True,
    )


def check_reach(config: Mapping[str, Any], at: str, report: ProblemReport) -> None:
    """Warn of a `max_time` above what a hyperparameter with the name of its metric allows.

    A trial that ends before the top rung competes on the lower rungs only.
    """
    searcher = config["searcher"]
    metric, most = searcher.get("time_metric"), searcher.get("max_time")
    if searcher.get("name") not in HALVING or metric is None or most is None:
        return
    for name in (metric, f"max_{metric}", f"num_{metric}", f"n_{metric}"):
        highest = _highest(config["hyperparameters"].get(name))
        if highest is not None and highest < most:
            report.warn(
                f"{at}.searcher.max_time",
                f"likely no trial reaches {most} {metric}: the hyperparameter {name} is at most "
                f"{highest:g}; write max_time: {int(highest)}, or let trials train longer",
            )


def _highest(spec: Any) -> float | None:
    """The largest number that a hyperparameter may have; None for other kinds."""
    spec = spec if isinstance(spec, Mapping) else {}
    values: Any = {
        "const": [spec.get("val")],
        "int": [spec.get("maxval")],
        "double": [spec.get("maxval")],
        "categorical": spec.get("vals"),
    }.get(spec.get("type", ""), [])
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return max(numbers) if numbers and len(numbers) == len(values) and max(numbers) >= 1 else None


def unit_and_number(length: Any) -> tuple[str, int]:
    """A `max_length` as a name and a value of the time metric; 100 batches without one."""
    match length:
        case dict() if len(length) == 1:
            unit, number = next(iter(length.items()))
            return str(unit), int(number or _EXAMPLE_TIME)
        case int() if length > 0:
            return "batches", length
        case _:
            return "batches", _EXAMPLE_TIME
