"""Kubernetes pods that users merge into those of their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.domain.config.problems import Report
from determined_master.domain.config.schema import Anything, Kind, expected

CONTAINER = "determined-container"
_OURS = frozenset(
    (
        "image",
        "command",
        "args",
        "workingDir",
        "ports",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "imagePullPolicy",
        "securityContext",
    )
)
"""Keys of the task's container that the platform sets."""


class PodSpec(Kind):
    """A Pod as in Kubernetes' own manuals, less what the platform decides."""

    noun = "object"

    def read(self, value: Any, at: str, report: Report) -> Any:
        if not isinstance(value, Mapping):
            report.problem(at, expected("object", value))
            return None
        for key in ("name", "name_space", "nameSpace"):
            if key in value:
                report.problem(f"{at}.{key}", "is not configurable")
        spec = value.get("spec")
        if isinstance(spec, Mapping):
            self._check(spec, f"{at}.spec", report)
        return Anything().read(value, at, report)

    def _check(self, spec: Mapping[str, Any], at: str, report: Report) -> None:
        if spec.get("hostNetwork") or spec.get("host_network"):
            text = "is not configurable here: set task_container_defaults.network_mode"
            report.problem(f"{at}.hostNetwork", text)
        containers = spec.get("containers")
        for i, container in enumerate(containers if isinstance(containers, list) else ()):
            if isinstance(container, Mapping) and container.get("name") == CONTAINER:
                for key in container:
                    if _camel(str(key)) in _OURS:
                        where = f"{at}.containers[{i}].{key}"
                        report.problem(where, f"is not configurable for {CONTAINER}")

    def merge(self, high: Any, low: Any) -> Any:
        return low if high is None else high if low is None else _strategic(high, low)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object"}


def _strategic(high: Any, low: Any) -> Any:
    """Merge maps by key and lists of named objects by name; anything else is replaced."""
    if isinstance(high, Mapping) and isinstance(low, Mapping):
        return {
            key: _strategic(high[key], low[key]) if key in high and key in low else value
            for key, value in {**low, **high}.items()
        }
    if _is_named(high) and _is_named(low):
        lower = {item["name"]: item for item in low}
        mine = {item["name"] for item in high}
        merged = [_strategic(i, lower[i["name"]]) if i["name"] in lower else i for i in high]
        return [*merged, *(item for item in low if item["name"] not in mine)]
    return high


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, Mapping) and isinstance(item.get("name"), str) for item in value
    )


def _camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(part.capitalize() for part in others)


POD_SPEC = PodSpec()
