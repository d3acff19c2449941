"""An experiment's configuration: from a submitted one to the one that is stored and run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.config.experiment_config import ExperimentConfig
from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.layers import (
    ConfigLayers,
    PoolLayer,
    as_experiment,
    check_limits,
    chosen_pool,
    container_defaults,
)
from determined_master.domain.config.policies.layer import (
    apply_invariants,
    blamed,
    policy_changes,
)
from determined_master.domain.config.policies.rules import (
    Policies,
    check_constraints,
    find_violations,
)
from determined_master.domain.config.schema.problems import ROOT, ConfigErrors, ProblemReport
from determined_master.domain.config.schema.values import type_name
from determined_master.domain.config.sections.grid import check_grid
from determined_master.domain.config.sections.searcher import check_reach, check_time
from determined_master.domain.config.sizes import check_sizes
from determined_master.domain.config.template import read_part
from determined_master.domain.config.template_source import template_changes

__all__ = [
    "BuiltExperiment",
    "ConfigErrors",
    "ConfigLayers",
    "ExperimentConfig",
    "PoolLayer",
    "build_experiment",
]

NO_ENTRYPOINT = "managed experiments require entrypoint: set it to the command that trains"
ADVISED_DESCRIPTION = 255
"""Longer descriptions cause a warning."""
_TRIAL_CLASS = re.compile(r"[\w.]+:[\w.]+")


class BuiltExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """A complete configuration without errors."""

    config: dict[str, Any]
    """As it is stored and shown."""
    typed: ExperimentConfig
    warnings: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """Keys that others have set, each with the policy or the template, and its author."""


def build_experiment(
    submitted: Any, *, layers: ConfigLayers, seed: int, name: str, is_managed: bool = True
) -> BuiltExperiment:
    """Check a submitted configuration, merge it with the other layers and fill in defaults.

    Building again from the result, with the same layers, gives the same result.

    Args:
        submitted: JSON values, as read from the user's YAML.
        seed: of the search, when the configuration gives none; 0 to 2^32-1.
        name: when the configuration gives none.
        is_managed: whether the master runs its trials; detached ones need no entrypoint.

    Raises:
        ConfigErrors: with every problem and its path.
        InvalidArgument: it exceeds a constraint of a config policy.
    """
    report = ProblemReport()
    user = _read(submitted, ROOT, report)
    template = read_part(EXPERIMENT, layers.template, report) if layers.template else {}
    own = report.problems
    config = EXPERIMENT.merge(user, template)
    changes = template_changes(layers.template_source, user, config, report)
    before, config = config, apply_invariants(config, layers.policies, report)
    changes += policy_changes(before, config, layers.policies)

    pool = _fill_pool(config, layers, report)
    config = _merge_cluster(config, layers)
    _fill(config, "resources", "priority", pool.default_priority)
    _fill(config, "reproducibility", "experiment_seed", seed)
    if config.get("name") is None and not report.has_problem_at(f"{ROOT}.name"):
        config["name"] = name

    EXPERIMENT.read(config, ROOT, report)  # valid layers may not fit together
    completed = EXPERIMENT.complete(config)
    EXPERIMENT.find_gaps(completed, ROOT, report)
    _check_whole(completed, layers, report)
    if is_managed:
        _check_entrypoint(completed, report)
    if not report.problems:
        check_sizes(completed, layers.limits, report)
        check_reach(completed, ROOT, report)
        check_limits(completed, layers, report)
    if report.problems:
        raise ConfigErrors(blamed(report.problems, layers.policies, own))
    if is_managed:
        _check_constraints(completed, layers.policies, pool, report)
    if completed["resources"].get("topology") and not pool.places_pods:
        text = "has no effect in a pool of agents, or in one that hands its tasks over"
        report.warn(f"{ROOT}.resources.topology", text)
    built: dict[str, Any] = msgspec.to_builtins(completed)
    typed = ExperimentConfig(built).convert()
    return BuiltExperiment(config=built, typed=typed, warnings=report.warnings, changes=changes)


def _read(submitted: Any, root: str, report: ProblemReport) -> dict[str, Any]:
    if not isinstance(submitted, Mapping):
        report.problem(root, f"expected object, but got {type_name(submitted)}")
        raise ConfigErrors(report.problems)
    body = {key: value for key, value in submitted.items() if key != "version"}
    version = submitted.get("version")
    if version not in (None, 0) or isinstance(version, bool):
        report.problem(f"{root}.version", f"invalid version {version!r}: only 0 is known")
    return EXPERIMENT.read(body, root, report) or {}


def _fill_pool(config: dict[str, Any], layers: ConfigLayers, report: ProblemReport) -> PoolLayer:
    """Fill in the pool's name; return the layer of that pool."""
    resources = config.get("resources") or {}
    name, pool = chosen_pool(resources, resources.get("slots_per_trial"), layers, report)
    config["resources"] = {**resources, "resource_pool": name}
    return pool


def _merge_cluster(config: Any, layers: ConfigLayers) -> dict[str, Any]:
    """Merge a configuration over the settings of the cluster's admins."""
    quiet = ProblemReport()  # settings are checked at start
    resources = config["resources"]
    defaults = container_defaults(layers, resources["resource_pool"])
    slots = resources.get("slots_per_trial")
    merged = EXPERIMENT.merge(config, as_experiment(defaults, has_slots=slots != 0))
    for storage in (layers.workspace_checkpoint_storage, layers.checkpoint_storage):
        if storage:
            low = EXPERIMENT.read({"checkpoint_storage": storage}, "", quiet)
            merged = EXPERIMENT.merge(merged, low)
    return dict(merged)


def _check_constraints(
    config: Mapping[str, Any], policies: Policies, pool: PoolLayer, report: ProblemReport
) -> None:
    resources = config["resources"]
    check_constraints(resources, policies, priorities=pool.priorities)
    if pool.priorities == "none" and find_violations(resources, policies):
        text = f"is not bounded: pool {resources['resource_pool']} does not schedule by priority"
        report.warn(f"{ROOT}.resources.priority", text)


def _fill(config: dict[str, Any], section: str, key: str, value: Any) -> None:
    held = config.get(section) or {}
    if held.get(key) is None:
        config[section] = {**held, key: value}


def _check_whole(config: Mapping[str, Any], layers: ConfigLayers, report: ProblemReport) -> None:
    """Report problems that only a completed configuration shows."""
    searcher = config.get("searcher") or {}
    check_time(searcher, f"{ROOT}.searcher", report)
    if searcher.get("name") == "grid" and config.get("hyperparameters") is not None:
        check_grid(config["hyperparameters"], f"{ROOT}.hyperparameters", layers.limits, report)
    if bool(config.get("workspace")) != bool(config.get("project")):
        lacking = "project" if config.get("workspace") else "workspace"
        text = f"must provide both workspace and project, or neither; {lacking} is missing"
        report.problem(ROOT, text, is_gap=True)
    if len(config.get("description") or "") > ADVISED_DESCRIPTION:
        text = f"is longer than {ADVISED_DESCRIPTION} characters; lists show its beginning only"
        report.warn(f"{ROOT}.description", text)
    entrypoint = config.get("entrypoint")
    if isinstance(entrypoint, str) and _TRIAL_CLASS.fullmatch(entrypoint):
        text = "a trial class as entrypoint is deprecated: name the command that trains"
        report.warn(f"{ROOT}.entrypoint", text)


def _check_entrypoint(config: Mapping[str, Any], report: ProblemReport) -> None:
    if not config.get("entrypoint") and not report.has_problem_at(f"{ROOT}.entrypoint"):
        report.problem(f"{ROOT}.entrypoint", NO_ENTRYPOINT, is_gap=True, bare=NO_ENTRYPOINT)
