"""The rules of AWS's instance types: images by processors and GPUs, and quotas."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from determined.cli import errors
from determined_deploy.cloud import tables

_LETTERS = re.compile(r"[a-z]+")


class ImageName(NamedTuple):
    """Finds a machine image: its owner, and its name with asterisks."""

    owner: str
    name: str


class Images(NamedTuple):
    """Ids of the images that a cluster boots, and the GPUs that agents have, as AWS says."""

    master: str
    aux: str
    compute: str
    aux_gpus: Optional[int] = None
    """None if AWS was not asked: the master then knows the type, or refuses it."""
    compute_gpus: Optional[int] = None


def architecture_of(instance_type: str) -> str:
    """The processors of an instance type: `x86_64` or `arm64`."""
    patterns: List[str] = _rules()["arm64"]
    is_arm = re.fullmatch("|".join(patterns), _family(instance_type))
    return "arm64" if is_arm else "x86_64"


def image_of(instance_type: str, *, with_driver: bool) -> ImageName:
    """The image that machines of a type boot.

    Args:
        instance_type: of the machine.
        with_driver: whether its GPUs are used.
    """
    listed: Mapping[str, str] = _rules()["drivers" if with_driver else "ubuntu"]
    return ImageName(listed["owner"], listed[architecture_of(instance_type)])


def check_driver(option: str, instance_type: str) -> None:
    """Check that the driver of the default image knows a type's GPUs.

    Raises:
        CliError: it does not.
    """
    for one in _rules()["no_open_driver"]:
        if _family(instance_type) in one["families"]:
            raise errors.CliError(
                f"{option} {instance_type}: Amazon's image has NVIDIA's open driver, which does "
                f"not know its GPUs ({one['gpu']}); give --agent-image AMI of an image with "
                f"{one['needs']}, Docker and the NVIDIA Container Toolkit, or another type, such "
                "as g4dn.xlarge"
            )


def quota_of(instance_type: str, *, is_spot: bool) -> Optional[str]:
    """The code of EC2's quota of vCPUs that a type counts against; None if it is not known."""
    match = _LETTERS.match(instance_type)
    for one in _rules()["quotas"]:
        if match and match[0] in one["letters"]:
            code: Optional[str] = one.get("spot" if is_spot else "on_demand")
            return code
    return None


def _family(instance_type: str) -> str:
    return instance_type.partition(".")[0]


def _rules() -> Dict[str, Any]:
    return tables.read("aws_rules")
