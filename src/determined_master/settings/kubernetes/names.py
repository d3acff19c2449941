"""Texts that Kubernetes accepts as names, as types of settings."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any

from msgspec import Meta

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import ValueType

MAX_LABEL = 63
MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_KEY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


class LabelType(ValueType):
    """A name that Kubernetes accepts for namespaces and services."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if not isinstance(value, str) or not is_dns_label(value):
            report.problem(
                at,
                "must be a DNS label: at most 63 lower-case letters, digits and dashes, with a "
                f'letter or digit at both ends, but found "{value}"',
            )
            return None
        return value


class GivenType(ValueType):
    """A non-empty text."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if not isinstance(value, str) or not value.strip():
            report.problem(at, "must not be empty")
            return None
        return value


class HostType(ValueType):
    """An IP address or the name of a host."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if not isinstance(value, str) or not _is_host(value):
            report.problem(
                at, f'must be an IP address or a host name, without scheme and port, not "{value}"'
            )
            return None
        return value


class ObjectNameType(ValueType):
    """A name that Kubernetes accepts for most objects."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if not isinstance(value, str) or not is_object_name(value):
            report.problem(
                at,
                f"must be a DNS name: at most {MAX_NAME} lower-case letters, digits, dashes and "
                f'dots, with a letter or digit at both ends of each part, but found "{value}"',
            )
            return None
        return value


class LabelKeyType(ValueType):
    """The key of a label of nodes; empty for none."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if isinstance(value, str) and (value == "" or is_label_key(value)):
            return value
        report.problem(
            at,
            "must be the key of a label, as NAME or DOMAIN/NAME: letters, digits, dashes, dots "
            f'and underscores, but found "{value}"',
        )
        return None


class Optional(ValueType):
    """A text of another type, or an empty one."""

    noun = "string"

    def __init__(self, value_type: ValueType) -> None:
        self._given = value_type

    def read(self, value: Any, at: str, report: ProblemReport) -> Any:
        return value if value == "" else self._given.read(value, at, report)


Label = Annotated[str, Meta(extra={"kind": LabelType()})]


def is_dns_label(name: str) -> bool:
    """Whether Kubernetes accepts it as the name of a namespace."""
    return len(name) <= MAX_LABEL and _LABEL.fullmatch(name) is not None


def is_object_name(text: str) -> bool:
    return len(text) <= MAX_NAME and all(map(_LABEL.fullmatch, text.split(".")))


def is_label_key(text: str) -> bool:
    """Whether Kubernetes accepts it as the key of a label."""
    domain, slash, name = text.rpartition("/")
    is_named = len(name) <= MAX_LABEL and _KEY.fullmatch(name) is not None
    return is_named and (not slash or is_object_name(domain))


def _is_host(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return len(text) <= MAX_NAME and all(map(_LABEL.fullmatch, text.lower().split(".")))
    return True
