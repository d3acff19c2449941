"""What AWS requires of machines by the family of their instance type (`types/aws_rules.json`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.machines.types.catalog import load


class AwsRules(msgspec.Struct, frozen=True, kw_only=True):
    """The file. `det deploy aws` reads more of it."""

    about: str
    as_of: str
    sources: tuple[str, ...]
    arm64: tuple[str, ...]
    ubuntu: Mapping[str, str]
    drivers: Mapping[str, str]
    no_open_driver: tuple[Mapping[str, Any], ...]
    quotas: tuple[Mapping[str, Any], ...]


_ARM64 = re.compile("|".join(load("aws_rules", AwsRules).arm64))


def architecture_of(instance_type: str) -> str:
    """The processors of an instance type: `x86_64` or `arm64`."""
    return "arm64" if _ARM64.fullmatch(instance_type.partition(".")[0]) else "x86_64"
