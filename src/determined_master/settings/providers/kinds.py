"""The types of providers, and the reader of their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import ValueType, type_name
from determined_master.settings.providers.aws import AwsProvider, check_aws
from determined_master.settings.providers.costs import with_prices_of_file
from determined_master.settings.providers.gcp import GcpProvider, check_gcp
from determined_master.settings.providers.provider import Provider, check_common
from determined_master.settings.reader import read_struct


class ProviderType(NamedTuple):
    """A type of provider: its options, and the check of its own options."""

    settings: type[Provider]
    check: Callable[[Any, str, ProblemReport], None] = lambda provider, at, report: None
    """Takes the settings, their path and the report."""


PROVIDERS: dict[str, ProviderType] = {
    "aws": ProviderType(AwsProvider, check_aws),
    "gcp": ProviderType(GcpProvider, check_gcp),
}
"""By `provider.type`. `composition.machine_providers.MACHINE_PROVIDERS` makes each of them."""
_REFUSED = {
    "hpc": "Slurm and PBS partitions are not in this version: run agents inside a job of yours "
    "there, and remove the provider from their pool",
}


class ProviderKind(ValueType):
    """`resource_pools[].provider`: options by its type."""

    noun: ClassVar[str] = "object"

    def read(self, value: Any, at: str, report: ProblemReport) -> Provider | None:
        if not isinstance(value, Mapping):
            report.problem(at, f"expected object, but got {type_name(value)}")
            return None
        name = value.get("type")
        chosen = PROVIDERS.get(name) if isinstance(name, str) else None
        if chosen is not None:
            read: Provider = read_struct(chosen.settings, value, at, report)
            if not report.has_problem_at(at):
                read = with_prices_of_file(read, at, report)
            if not report.has_problem_at(at):
                check_common(read, at, report)
                chosen.check(read, at, report)
            return read
        types = ", ".join(PROVIDERS) or "none in this version"
        if name is None:
            report.problem(f"{at}.type", f"is required: one of {types}")
        else:
            text = _REFUSED.get(str(name), f'"{name}" is no type of provider; types: {types}')
            report.problem(f"{at}.type", text)
        return None
