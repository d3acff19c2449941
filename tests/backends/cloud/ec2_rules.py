"""Launches that AWS refuses and moto accepts."""

from __future__ import annotations

from typing import Any

import pytest
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.models.instances import InstanceBackend


def install(patch: pytest.MonkeyPatch) -> None:
    """Patch moto: an image boots only on the processors that it is for."""
    run = InstanceBackend.run_instances

    def run_instances(self: Any, image_id: str, count: int, *args: Any, **kwargs: Any) -> Any:
        kind = str(kwargs.get("instance_type"))
        image = self.amis.get(image_id)
        if image is not None and kind in INSTANCE_TYPES:
            taken = INSTANCE_TYPES[kind]["ProcessorInfo"]["SupportedArchitectures"]
            if image.architecture not in taken:
                raise EC2ClientError(
                    "InvalidParameterValue",
                    f"The architecture {taken[0]!r} of the specified instance type does not match "
                    f"the architecture {image.architecture!r} of the specified AMI.",
                )
        return run(self, image_id, count, *args, **kwargs)

    patch.setattr(InstanceBackend, "run_instances", run_instances)
