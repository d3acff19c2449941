"""The names of objects that a task's pod spec may not have. PURE.

Pods name objects in many ways: variables, volumes, projections, drivers, and annotations from
which a webhook makes volumes. A way of a later release of Kubernetes counts too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

_EDGE = "a-z0-9.-"
_OF_A_TASK = re.compile(
    rf"(?<![{_EDGE}])det-[0-9a-f]{{8}}-(?:[a-z0-9-]{{0,50}}-)?[0-9a-f]{{12}}"
    rf"(?:-[a-z0-9][{_EDGE}]{{0,200}})?(?![{_EDGE}])"
)
"""Names of the pods and Secrets of tasks, and of what Kubernetes makes for pods (`POD-VOLUME`)."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_OF_HELM = r"sh\.helm\.release\.v1\.[a-z0-9.-]+"
"""Secrets in which Helm keeps all values and objects of a release, also the random passwords."""
_HOLDS = {"-pull": "secrets", "-slots": "devices"}
_PROGRAM = ("name", "args", "command", "image", "workingDir")
_LOCAL: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("containers", "initContainers", "ephemeralContainers"), _PROGRAM),
    **dict.fromkeys(("volumes", "volumeMounts", "volumeDevices", "ports"), ("name",)),
    **dict.fromkeys(("claims", "resourceClaims"), ("name",)),
    "env": ("name", "value"),
}
"""By list: keys of its items whose texts are for the pod's own parts and programs."""
_PLACING = frozenset(("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints"))


def object_of_a_task(value: Any) -> str | None:
    """The first object of a task that a JSON value names, and what that is; None without one.

    `det-01234567-exp-7-trial-8-attempt-1-c0ffee001111, which holds the secrets of another task`.
    """
    for text in _texts(value):
        found = _OF_A_TASK.search(text)
        if found is not None:
            name = found[0]
            kind = "secrets" if re.search("-[0-9a-f]{12}$", name) else _kind_of(name)
            what = f"holds the {kind} of" if kind else "belongs to"
            return f"{name}, which {what} another task"
    return None


def reserved_name(pod: Any, reserved: Collection[str], account: str = "") -> str | None:
    """The first name of the platform's own objects that a pod spec has; None without one.

    Args:
        pod: after `camel`.
        reserved: names of Secrets, claims and accounts, and values of labels by which Services
            find their pods.
        account: the service account of the master, whose tokens are in Secrets named for it.
    """
    of_account = [f"{re.escape(account)}-token-\\w+"] if account else []
    parts = [_OF_HELM, *map(re.escape, reserved), *of_account]
    names = re.compile(rf"(?<![{_EDGE}])(?:{'|'.join(parts)})(?![{_EDGE}])")
    for key, text in _naming_texts(pod):
        in_json = key == "annotations"
        found = names.search(_unescaped(text)) if in_json else names.fullmatch(text)
        if found is not None:
            return found[0]
    return None


def _kind_of(name: str) -> str:
    return next((kind for end, kind in _HOLDS.items() if name.endswith(end)), "")


def _unescaped(text: str) -> str:
    """A text without the escapes of JSON and YAML by which an annotation can spell a name."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield _unescaped(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _naming_texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts that can name an object outside of the pod, each with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if name not in _PLACING:
                yield from _naming_texts(item, key if key == "annotations" else str(name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _naming_texts(_without_local(item, key), key)


def _without_local(item: Any, key: str) -> Any:
    """An item of a list, without the texts that are for the pod's own parts."""
    if not isinstance(item, Mapping):
        return item
    local = _LOCAL.get(key, ())
    return {name: part for name, part in item.items() if name not in local}
