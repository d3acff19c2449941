"""The limit of Kubernetes on the size of one object. PURE."""

from __future__ import annotations

from collections.abc import Mapping

from determined_master.backends.kubernetes.manifest.files import RootFile
from determined_wire.agent_link import ContainerSpec

MAX_SECRET_BYTES = 1 << 20
"""Of the values of one Secret together; the API server refuses more."""


def check_size(
    data: Mapping[str, str],
    variables: Mapping[str, str],
    spec: ContainerSpec,
    owned_by_root: list[RootFile],
) -> None:
    """Check that one Secret holds a container's variables and files.

    A pod is created before its Secret, so a Secret that is too large is found before both.

    Args:
        data: of the Secret, in base64.
        variables: by name.
        spec: has the user's files, which are packed.
        owned_by_root: the other files.

    Raises:
        ValueError: they are too large; the text names the largest one.
    """
    size = sum(_decoded(value) for value in data.values())
    if size <= MAX_SECRET_BYTES:
        return
    parts = {f"variable {name}": len(value.encode()) for name, value in variables.items()}
    parts |= {f"file {file.path}": len(file.content) for file in spec.files}
    parts |= {f"file {file.path}": len(file.content) for file in owned_by_root}
    largest = max(parts, key=lambda part: parts[part])
    raise ValueError(
        f"the task has {_mib(size)} of variables and files, and a Secret of Kubernetes takes at "
        f"most 1 MiB; the largest is the {largest} with {_mib(parts[largest])}: put it into the "
        "image, the context directory or a volume"
    )


def _decoded(text: str) -> int:
    return len(text) // 4 * 3 - text[-2:].count("=")


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
