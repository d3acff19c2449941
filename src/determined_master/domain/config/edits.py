"""Changes a part of a stored configuration; the rules are those for submitted ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.schema.problems import ROOT, ConfigErrors, ProblemReport
from determined_master.domain.config.sizes import ConfigLimits, check_sizes


def edit_section(
    config: Mapping[str, Any], section: str, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """A section of a canonical configuration with some of its values replaced.

    Raises:
        ConfigErrors: with every problem and its path.
    """
    edited = {**(config.get(section) or {}), **changes}
    report = ProblemReport()
    read = EXPERIMENT.read({section: edited}, ROOT, report) or {}
    if report.problems:
        raise ConfigErrors(report.problems)
    return {**edited, **(read.get(section) or {})}


def check_growth(
    before: Mapping[str, Any], after: Mapping[str, Any], limits: ConfigLimits
) -> None:
    """Check the sizes of an edited configuration. A size above its limit may only shrink.

    Raises:
        ConfigErrors: the edit brings a size above its limit, or one that was above it grows.
    """
    earlier, report = ProblemReport(), ProblemReport()
    check_sizes(before, limits, earlier)
    check_sizes(after, limits, report)
    grown = [problem for problem in report.problems if problem not in earlier.problems]
    if grown and len(msgspec.json.encode(after)) > len(msgspec.json.encode(before)):
        raise ConfigErrors(tuple(grown))
