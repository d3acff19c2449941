"""Launches of machines that may be of several types, in several subnets: one fleet a market.

A fleet of type `instant` starts all that it can at once and then has no effect any more. Its
machines come from a launch template, which holds what they have in common.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from determined_master.backends.aws import requests
from determined_master.backends.aws.ec2 import REFUSALS, Ec2, Ec2Refused, launching, worded
from determined_master.backends.aws.requests import Ec2Terms
from determined_master.backends.cloud.pool_offers import PoolOffers
from determined_master.domain.machines.offers import Market, Offer
from determined_master.domain.machines.scaling import Machine
from determined_master.ports.machines import LaunchFailed

log = logging.getLogger(__name__)
_EXISTS = "InvalidLaunchTemplateName.AlreadyExistsException"
_MISSING = ("InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound")
_STRATEGIES: Mapping[tuple[Market, str], str] = {
    ("on-demand", "listed"): "prioritized",
    ("on-demand", "price"): "lowest-price",
    ("spot", "listed"): "capacity-optimized-prioritized",
    ("spot", "price"): "price-capacity-optimized",
}
"""By market and order; the two of spot prefer offers that AWS reclaims less often."""


class Fleets:
    """The launches of one pool. Calls block, and never overlap."""

    def __init__(self, offers: PoolOffers) -> None:
        self._offers = offers
        self._template = ""
        """The name of the template that is known to exist."""

    def launch(
        self, ec2: Ec2, terms: Ec2Terms, count: int, token: str, now: datetime
    ) -> list[Machine]:
        """Start up to `count` instances on the first market that has any.

        Each market's request has its own client token, derived from `token`.

        Raises:
            LaunchFailed: none could be started. ProviderFailed: the outcome is unknown.
        """
        failures: list[str] = []
        offers = self._offers.begin()
        for market in dict.fromkeys(offer.market for offer in offers):
            some = [offer for offer in offers if offer.market == market]
            try:
                answer = self._request(ec2, terms, some, count, token)
            except Ec2Refused as error:
                refusal = REFUSALS.get(error.code)
                for offer in some:
                    self._offers.refused(offer, refusal)
                failures.append(str(error))
                if refusal is None:
                    break
                continue
            machines = self._started(answer, some, terms, now)
            failures += self._refused(answer, some)
            if machines:
                return machines
        raise LaunchFailed("; ".join(dict.fromkeys(failures)) or "AWS: a fleet has no machine")

    def _request(
        self, ec2: Ec2, terms: Ec2Terms, offers: Sequence[Offer], count: int, token: str
    ) -> dict[str, Any]:
        name = template_name(terms)
        if name != self._template:
            with launching():
                _make_template(ec2, terms, name)
            self._template = name
        try:
            return ec2.call("create_fleet", **create_fleet(terms, name, offers, count, token))
        except Ec2Refused as error:
            if error.code in _MISSING:
                self._template = ""  # somebody has deleted it: the next launch makes it
            raise

    def _started(
        self, answer: Mapping[str, Any], offers: Sequence[Offer], terms: Ec2Terms, now: datetime
    ) -> list[Machine]:
        found: list[Machine] = []
        counts: dict[Offer, int] = {}
        for group in answer.get("Instances", ()):
            offer, started = _offer_of(group, offers), group["InstanceIds"]
            counts[offer] = counts.get(offer, 0) + len(started)
            found += [_new(id, offer, now) for id in started]
        for offer, count in counts.items():
            self._offers.started(offer, count)
        return found

    def _refused(self, answer: Mapping[str, Any], offers: Sequence[Offer]) -> Iterator[str]:
        for error in answer.get("Errors", ()):
            code, offer = str(error.get("ErrorCode", "")), _offer_of(error, offers)
            self._offers.refused(offer, REFUSALS.get(code))
            text = worded("create_fleet", code, str(error.get("ErrorMessage", "")))
            log.warning("AWS gives no machine: %s: %s", offer.name, text)
            yield f"AWS: {text}"


def template_name(terms: Ec2Terms) -> str:
    """The name of a pool's launch template; other contents have another name."""
    return f"determined-{_digest(_owner(terms))}-{_digest(_template_data(terms))}"


def create_fleet(
    terms: Ec2Terms, template: str, offers: Sequence[Offer], count: int, token: str
) -> dict[str, Any]:
    """Parameters of CreateFleet: the offers are of one market, the first one has precedence."""
    aws, market = terms.aws, offers[0].market
    price = requests.max_spot_price(aws) if market == "spot" else None
    overrides = [
        {
            "InstanceType": offer.machine_type,
            "Priority": float(number),
            **({"SubnetId": offer.place} if offer.place else {}),
            **({"MaxPrice": price} if price is not None else {}),
        }
        for number, offer in enumerate(offers)
    ]
    source = {"LaunchTemplateName": template, "Version": "$Latest"}
    options = {"AllocationStrategy": _STRATEGIES[market, aws.offer_order]}
    return {
        "Type": "instant",
        "ClientToken": str(uuid.uuid5(uuid.UUID(token), market)),
        "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": source, "Overrides": overrides}],
        "TargetCapacitySpecification": {
            "TotalTargetCapacity": count,
            "DefaultTargetCapacityType": market,
        },
        ("SpotOptions" if market == "spot" else "OnDemandOptions"): options,
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": requests.tags(terms, token)}
            for kind in ("fleet", "instance")
        ],
    }


def _new(id: str, offer: Offer, now: datetime) -> Machine:
    return Machine(
        id=id,
        agent_name=id,
        state="starting",
        launched_at=now,
        is_spot=offer.market == "spot",
        instance_type=offer.machine_type,
        price_per_hour=offer.price_per_hour,
    )


def _offer_of(part: Mapping[str, Any], offers: Sequence[Offer]) -> Offer:
    """The offer that a part of an answer is about."""
    overrides = part.get("LaunchTemplateAndOverrides", {}).get("Overrides", {})
    kind = part.get("InstanceType") or overrides.get("InstanceType")
    place = overrides.get("SubnetId", "")
    of_kind = [o for o in offers if o.machine_type == kind] or list(offers)
    return next((o for o in of_kind if o.place == place), of_kind[0])


def _template_data(terms: Ec2Terms) -> dict[str, Any]:
    tags = requests.tags(terms)
    # A fleet names the subnets itself; a template without one takes the default VPC's.
    return {
        **requests.machine(terms, ""),
        "UserData": base64.b64encode(terms.script.encode()).decode(),
        "TagSpecifications": [{"ResourceType": "volume", "Tags": tags}],
    }


def _owner(terms: Ec2Terms) -> list[str]:
    return [terms.aws.tag_key, terms.tag_value, terms.pool]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _make_template(ec2: Ec2, terms: Ec2Terms, name: str) -> None:
    """Make the pool's template, and delete those of earlier settings. Raises Ec2Refused."""
    tagged = {"ResourceType": "launch-template", "Tags": requests.tags(terms)}
    try:
        ec2.call(
            "create_launch_template",
            LaunchTemplateName=name,
            LaunchTemplateData=_template_data(terms),
            TagSpecifications=[tagged],
        )
    except Ec2Refused as error:
        if error.code != _EXISTS:
            raise
    try:
        found = ec2.call("describe_launch_templates", Filters=requests.own_filters(terms))
        for template in found["LaunchTemplates"]:
            if template["LaunchTemplateName"] != name:
                ec2.call("delete_launch_template", LaunchTemplateId=template["LaunchTemplateId"])
    except Ec2Refused as error:
        log.warning("launch templates of earlier settings are left at AWS: %s", error)
