"""Kubernetes pods that users merge into their tasks' pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import Anything, ValueType, expected
from determined_master.domain.task.pod_keys import (
    MAIN_CONTAINER,
    camel,
    camel_key,
    find_key_given_twice,
)
from determined_master.domain.task.pod_names import object_of_a_task
from determined_master.domain.task.pod_types import wrong_types

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


class PodSpec(ValueType):
    """A Pod of Kubernetes' API, without the fields that the platform sets."""

    noun = "object"

    def read(self, value: Any, at: str, report: ProblemReport) -> Any:
        if not isinstance(value, Mapping):
            report.problem(at, expected("object", value))
            return None
        twice = find_key_given_twice(value)
        if twice:
            report.problem(at, f"{twice} is given twice, in two spellings: remove one")
        for key in value:
            if camel_key(str(key)) in ("name", "nameSpace"):
                report.problem(f"{at}.{key}", "is not configurable")
        taken = object_of_a_task(value)
        if taken:
            report.problem(at, f"names {taken}")
        for below, noun, found in wrong_types(camel(value)):
            report.problem(f"{at}{below}", expected(noun, found))
        for key, spec in value.items():
            if camel_key(str(key)) == "spec" and isinstance(spec, Mapping):
                self._check(spec, f"{at}.spec", report)
        return camel(Anything().read(value, at, report))

    def _check(self, spec: Mapping[str, Any], at: str, report: ProblemReport) -> None:
        given = {camel_key(str(key)): value for key, value in spec.items()}
        if given.get("hostNetwork"):
            text = "is not configurable here: set task_container_defaults.network_mode"
            report.problem(f"{at}.hostNetwork", text)
        containers = given.get("containers")
        for i, container in enumerate(containers if isinstance(containers, list) else ()):
            if isinstance(container, Mapping) and container.get("name") == MAIN_CONTAINER:
                for key in container:
                    if camel_key(str(key)) in _OURS:
                        where = f"{at}.containers[{i}].{key}"
                        report.problem(where, f"is not configurable for {MAIN_CONTAINER}")

    def merge(self, high: Any, low: Any) -> Any:
        return _strategic(high, low)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object"}


def _strategic(high: Any, low: Any, section: str = "") -> Any:
    """Merge maps by key and the lists of `_KEYS` by item; replace anything else.

    Null is unset: it does not remove what an admin's pod has.

    Args:
        section: key of both.
    """
    if high is None or low is None:
        return low if high is None else high
    if isinstance(high, Mapping) and isinstance(low, Mapping):
        return _merged_maps(high, low)
    key = _KEYS.get(camel_key(section))
    if key is None or not (_is_keyed(high, key) and _is_keyed(low, key)):
        return high
    return _merged_lists(high, low, key)


def _merged_maps(high: Mapping[Any, Any], low: Mapping[Any, Any]) -> dict[Any, Any]:
    return {
        key: _strategic(high[key], low[key], str(key)) if key in high and key in low else value
        for key, value in {**low, **high}.items()
    }


def _merged_lists(high: list[Any], low: list[Any], key: str) -> list[Any]:
    lower = {item[key]: item for item in low}
    mine = {item[key] for item in high}
    merged = [_strategic(i, lower[i[key]]) if i[key] in lower else i for i in high]
    return [*merged, *(item for item in low if item[key] not in mine)]


_KEYS = {
    **dict.fromkeys(("containers", "initContainers", "ephemeralContainers"), "name"),
    **dict.fromkeys(("volumes", "env", "imagePullSecrets", "resourceClaims"), "name"),
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
"""Lists of a pod that merge item by item, and the key that identifies an item."""


def _is_keyed(value: Any, key: str) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, Mapping) and isinstance(item.get(key), (str, int)) for item in value
    )


POD_SPEC = PodSpec()
