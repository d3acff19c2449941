"""CreateFleet of type `instant` as AWS has it: moto starts all of the first override.

AWS tries the overrides, says of each why it gave nothing, and answers a repeated token alike.
"""

from __future__ import annotations

from typing import Any

import pytest
from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses.fleets import Fleets

OfferKey = tuple[str, str, str]
"""Type, subnet (empty for none) and market."""


class FleetRules:
    """Decides which instances a fleet gets."""

    def __init__(self) -> None:
        self.refused: dict[OfferKey, str] = {}
        """The code that an offer is refused with."""
        self.left: dict[OfferKey, int] = {}
        """How many more instances an offer has; any number for others."""
        self.answers: dict[str, dict[str, Any]] = {}
        """By client token."""
        self.loses_answers = False
        """Whether fleets start machines, and the answer says that something went wrong."""


def install(rules: FleetRules, take: Any, patch: pytest.MonkeyPatch) -> None:
    """Patch moto; `take` says how many of a number of instances there is room for."""

    def create_fleet(self: Any) -> Any:
        token = self._get_param("ClientToken")
        if token not in rules.answers:
            rules.answers[token] = _started(self, rules, take)
        if rules.loses_answers:
            raise EC2ClientError("InternalError", "An internal error has occurred")
        return ActionResult(rules.answers[token])

    patch.setattr(Fleets, "create_fleet", create_fleet)


def _started(response: Any, rules: FleetRules, take: Any) -> dict[str, Any]:
    [config] = response._get_param("LaunchTemplateConfigs")
    target = response._get_param("TargetCapacitySpecification")
    market, left = target["DefaultTargetCapacityType"], int(target["TotalTargetCapacity"])
    assert response._get_param("Type") == "instant"
    errors, instances = [], []
    for override in sorted(config["Overrides"], key=lambda o: float(o["Priority"])):
        key = override["InstanceType"], override.get("SubnetId", ""), market
        code = rules.refused.get(key, "")
        count = 0 if code else min(left, rules.left.get(key, left))
        count = take(count) if count else 0
        if key in rules.left:
            rules.left[key] -= count
        if count:
            made = response.ec2_backend.create_fleet(
                on_demand_options={},
                spot_options={"AllocationStrategy": "lowest-price"} if market == "spot" else {},
                target_capacity_specification={**target, "TotalTargetCapacity": count},
                launch_template_configs=[{**config, "Overrides": [override]}],
                excess_capacity_termination_policy="",
                replace_unhealthy_instances=False,
                terminate_instances_with_expiration=True,
                fleet_type="instant",
                valid_from=None,
                valid_until=None,
                tag_specifications=response._get_param("TagSpecifications", []),
            )
            instances += made.instances
        left -= count
        if left and (code or not count or key in rules.left):
            errors.append(
                {
                    "LaunchTemplateAndOverrides": {"Overrides": override},
                    "Lifecycle": market,
                    "ErrorCode": code or "InsufficientInstanceCapacity",
                    "ErrorMessage": "There is none for arn:aws:iam::123456789012:role/x",
                }
            )
    return {"FleetId": "fleet-1", "Errors": errors, "Instances": instances}
