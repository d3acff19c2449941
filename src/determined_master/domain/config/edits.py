"""Changes a part of a stored configuration; the rules are those for submitted ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.schema.problems import ROOT, ConfigErrors, ProblemReport


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
