"""Reads stored configurations of any release: nothing stored is ever unreadable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.config.experiment_config import (
    STORED_EXPERIMENT,
    UNREADABLE,
    ExperimentConfig,
)
from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.schema.containers import Object
from determined_master.domain.config.schema.problems import ROOT, ProblemReport
from determined_master.domain.config.sections.hyperparameters import (
    HyperparameterSpace,
    typed_space,
)
from determined_master.domain.config.sections.searcher import (
    Removed,
    SearcherConfig,
    searcher_type,
    unit_and_number,
)

LEGACY_HDFS = {"type": "shared_fs", "host_path": "/legacy-hdfs-checkpoint-path"}
"""Stands for checkpoints in HDFS, which no release reads any more."""

_SURVIVES = ("checkpoint_storage", "bind_mounts", "environment", "hyperparameters")
"""Sections that are read one by one where the whole cannot be."""


class StoredConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A stored experiment as its configuration describes it."""

    config: dict[str, Any]
    """In today's canonical form; `Removed` searchers keep their own keys."""
    searcher: SearcherConfig
    hyperparameters: HyperparameterSpace
    seed: int
    is_whole: bool = True
    """Whether every key was readable; otherwise unreadable keys have their defaults."""


def read_stored(config: Mapping[str, Any]) -> StoredConfig:
    """Read a stored configuration of this or any earlier release.

    A configuration stored by this release is used unchanged. An older one gets the shims of older
    forms. If it still cannot be read, only `_SURVIVES` and the searcher's name and metric are
    used; its search cannot continue.
    """
    try:
        typed = ExperimentConfig(config).convert()
        return _whole(dict(config), typed.searcher, typed.hyperparameters, typed.seed)
    except UNREADABLE:
        pass  # an older form
    report = ProblemReport()
    read = STORED_EXPERIMENT.read(_without_hdfs(config), ROOT, report)
    if report.problems or not read:
        return _read_parts(config)
    completed = STORED_EXPERIMENT.complete(_with_time(read))
    try:
        typed = ExperimentConfig(_with_seed(completed)).convert()
    except UNREADABLE:
        return _read_parts(config)
    return _whole(completed, typed.searcher, typed.hyperparameters, typed.seed)


def _whole(
    config: dict[str, Any], searcher: SearcherConfig, space: HyperparameterSpace, seed: int
) -> StoredConfig:
    return StoredConfig(config=config, searcher=searcher, hyperparameters=space, seed=seed)


def _without_hdfs(config: Mapping[str, Any]) -> dict[str, Any]:
    storage = config.get("checkpoint_storage")
    if not isinstance(storage, Mapping) or storage.get("type") != "hdfs":
        return dict(config)
    kept = {key: value for key, value in storage.items() if str(key).startswith("save_")}
    return {**config, "checkpoint_storage": {**kept, **LEGACY_HDFS}}


def _with_time(config: dict[str, Any]) -> dict[str, Any]:
    """Replace the older `max_length` of a halving search by the time that it lacks."""
    searcher = config.get("searcher") or {}
    is_timed = searcher_type(str(searcher.get("name"))).wants_validations
    if not is_timed or searcher.get("max_length") is None:
        return config
    unit, length = unit_and_number(searcher["max_length"])
    return {**config, "searcher": {"time_metric": unit, "max_time": length, **searcher}}


def _with_seed(config: dict[str, Any]) -> dict[str, Any]:
    held = config["reproducibility"].get("experiment_seed")
    return {**config, "reproducibility": {"experiment_seed": held or 0}}


def _read_parts(config: Mapping[str, Any]) -> StoredConfig:
    older = _without_hdfs(config)
    parts: dict[str, Any] = {}
    for section in _SURVIVES:
        report = ProblemReport()
        read = _section(section).read({section: older.get(section)}, "", report)
        if read and not report.problems:
            parts |= read
    completed = EXPERIMENT.complete(parts)
    searcher = config.get("searcher")
    given = dict(searcher) if isinstance(searcher, Mapping) else {}
    name, metric = (str(given.get(key) or "unknown") for key in ("name", "metric"))
    smaller = given.get("smaller_is_better") is not False
    completed["searcher"] = {"name": name, "metric": metric, "smaller_is_better": smaller}
    return StoredConfig(
        config=completed,
        searcher=Removed(name=name, metric=metric, smaller_is_better=smaller),
        hyperparameters=typed_space(completed["hyperparameters"]),
        seed=0,
        is_whole=False,
    )


def _section(name: str) -> Object:
    return Object({name: EXPERIMENT.fields[name]})
