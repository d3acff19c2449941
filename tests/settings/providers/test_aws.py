"""Settings of pools whose machines come from AWS (master-config 16)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.provider_options import problems, read

from determined_master.api.cluster.machine_details import machine_details
from determined_master.settings.providers.aws import AwsProvider, AwsTag
from determined_wire.rest.types.resourcepool import AwsCustomTag, ResourcePoolDetail

AGENT = "registry.example/agent:1"
LEAST = {
    "type": "aws",
    "image_id": "ami-1",
    "ssh_key_name": "key",
    "agent_docker_image": AGENT,
}


def aws(tmp_path: Path, **options: Any) -> AwsProvider:
    found = read(tmp_path, {**LEAST, **options}).resource_pools[0].provider
    assert isinstance(found, AwsProvider)
    return found


@covers("scheduling-and-provisioning c.7.volume c.7.type c.7.name c.7.tag c.7.interface")
def test_image_and_key_are_enough(tmp_path: Path) -> None:
    found = aws(tmp_path)
    assert found == AwsProvider(**LEAST)
    assert (found.root_volume_size, found.instance_type) == (200, "g4dn.metal")
    assert found.instance_name == "determined-ai-agent"
    assert (found.tag_key, found.tag_value, found.region) == ("managed_by", "", "")
    assert found.network_interface.public_ip
    assert (found.spot, found.spot_max_price) == ("never", "OnDemand")
    assert not found.cpu_slots_allowed


def test_every_option_is_read_and_shown_in_the_list_of_pools(tmp_path: Path) -> None:
    found = aws(
        tmp_path,
        region="us-west-2",
        root_volume_size=100,
        tag_key="owner",
        tag_value="me",
        instance_name="agent",
        network_interface={"public_ip": False, "security_group_id": "sg", "subnet_id": "sn"},
        iam_instance_profile_arn="arn",
        instance_type="p9.huge",
        instance_slots=3,
        cpu_slots_allowed=True,
        log_group="group",
        log_stream="stream",
        spot=True,
        spot_max_price="1.5",
        custom_tags=[{"key": "team", "value": "vision"}],
    )
    assert found.instance_slots == 3
    assert found.cpu_slots_allowed
    assert found.custom_tags == (AwsTag(key="team", value="vision"),)
    details = machine_details(found, ResourcePoolDetail())
    told = details.aws
    assert told is not None
    assert (told.region, told.root_volume_size, told.image_id) == ("us-west-2", 100, "ami-1")
    assert (told.tag_key, told.tag_value, told.instance_name) == ("owner", "me", "agent")
    assert (told.public_ip, told.security_group_id, told.subnet_id) == (False, "sg", "sn")
    assert (told.iam_instance_profile_arn, told.instance_type) == ("arn", "p9.huge")
    assert (told.log_group, told.log_stream) == ("group", "stream")
    assert (told.spot_enabled, told.spot_max_price, told.ssh_key_name) == (True, "1.5", "key")
    assert told.custom_tags == [AwsCustomTag(key="team", value="vision")]


def test_a_pool_needs_no_image_of_the_agent(tmp_path: Path) -> None:
    [pool] = read(tmp_path, {**LEAST, "agent_docker_image": ""}).resource_pools
    assert pool.provider is not None
    assert pool.provider.agent_docker_image == ""


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"instance_types": ["g4dn.xlarge", "g5g.xlarge"]},
        "instance_types: must have one kind of processors, since one image boots on all, but "
        "g4dn.xlarge has x86_64 and g5g.xlarge has arm64: put them into two pools",
    ),
    ({"image_id": ""}, "image_id: is required: name an image of the region, as ami-"),
    (
        {"agent_docker_image": "", "agent_docker_runtime": "nvidia"},
        "agent_docker_runtime: is an option of the agent's container: set agent_docker_image too",
    ),
    (
        {"agent_docker_image": "", "agent_docker_runtime": "nvidia"},
        "agent_docker_runtime: is an option of the agent's container",
    ),
    ({"ssh_key_name": ""}, "ssh_key_name: is required: name a key pair of the region"),
    ({"root_volume_size": 99}, "root_volume_size: must be >= 100 but found 99"),
    ({"instance_slots": -1}, "instance_slots: must be >= 0 but found -1"),
    ({"price_per_hour": -1}, "price_per_hour: must be from 0 to 10000 dollars but found -1"),
    ({"price_per_hour": 10001}, "price_per_hour: must be from 0 to 10000 dollars but found"),
    ({"price_per_hour": "1"}, "price_per_hour: "),
    ({"root_volume_type": "st1"}, "root_volume_type: "),
    ({"root_volume_type": "io2"}, "root_volume_iops: is required with root_volume_type io2"),
    ({"root_volume_iops": 3000}, "root_volume_iops: has no effect on gp2: remove it"),
    (
        {"root_volume_type": "gp3", "root_volume_iops": 2999},
        "root_volume_iops: must be from 3000 to 80000 for gp3 of 200 GB but found 2999",
    ),
    (
        {"root_volume_type": "io1", "root_volume_size": 100, "root_volume_iops": 5001},
        "root_volume_iops: must be from 100 to 5000 for io1 of 100 GB but found 5001",
    ),
    ({"tag_key": ""}, "tag_key: must not be empty"),
    ({"tag_key": "determined-resource-pool"}, 'tag_key: "determined-resource-pool" is taken'),
    ({"tag_key": "determined-launch"}, 'tag_key: "determined-launch" is taken: the master'),
    ({"tag_key": "aws:owner"}, 'tag_key: "aws:owner" is taken: the master and AWS'),
    ({"custom_tags": [{"key": "AWS:x", "value": ""}]}, 'custom_tags[0].key: "AWS:x" is no key'),
    (
        {"instance_types": ["g4dn.xlarge", "g4dn.12xlarge"]},
        "instance_types: must have one number of slots, but g4dn.xlarge has 1 and g4dn.12xlarge "
        "has 4: put them into two pools",
    ),
    (
        {"instance_types": ["g4dn.xlarge", "m5.large"], "cpu_slots_allowed": True},
        "instance_types: must have one kind of slots, but g4dn.xlarge has cuda and m5.large has",
    ),
    (
        {"instance_types": ["g4dn.xlarge", "p9.huge"]},
        'instance_types: "p9.huge" is not known: set instance_slots',
    ),
    ({"instance_types": ["g5.xlarge", "g5.xlarge"]}, 'instance_types[1]: "g5.xlarge" is listed'),
    (
        {"instance_types": ["g5.xlarge"], "instance_type": "g4dn.xlarge"},
        'instance_type: "g4dn.xlarge" has no effect beside instance_types',
    ),
    ({"subnet_ids": [""]}, 'subnet_ids[0]: "" is no name'),
    (
        {"subnet_ids": ["subnet-1"], "network_interface": {"subnet_id": "subnet-2"}},
        "network_interface.subnet_id: has no effect beside subnet_ids",
    ),
    (
        {"spot": "maybe"},
        "spot: must be one of never, prefer, only, true or false but found 'maybe'",
    ),
    ({"offer_order": "random"}, "offer_order: "),
    ({"max_price": -1}, "max_price: must be from 0 to 10000 dollars but found -1"),
    (
        {"instance_type": "g4dn.xlarge", "max_price": 0.5},
        "max_price: leaves no machine type: it is 0.5 dollars an hour, and the cheapest costs "
        "0.526; raise it",
    ),
    (
        {"instance_type": "g4dn.xlarge", "max_cost_per_hour": 0},
        "max_cost_per_hour: must be above 0 and at most",
    ),
    (
        {"instance_type": "g4dn.xlarge", "max_cost_per_hour": 0.5},
        "max_cost_per_hour: is 0.5 dollars an hour and pays for 0 machines of up to 0.526",
    ),
    (
        {"instance_type": "g4dn.xlarge", "max_cost_per_hour": 1.5, "min_instances": 3},
        "max_cost_per_hour: is 1.5 dollars an hour and pays for 2 machines of up to 0.526: raise",
    ),
    (
        {"instance_type": "p9.huge", "instance_slots": 1, "max_cost_per_hour": 9},
        "max_cost_per_hour: needs the price of every machine type, and one is unknown",
    ),
    (
        {"instance_types": ["g5.xlarge", "g6.xlarge"], "price_per_hour": 1.0},
        "price_per_hour: is the price of one instance type, and there are several: give prices",
    ),
    ({"prices": {"g5.xlarge": 1}}, "prices.g5.xlarge: is no machine type of this pool, which has"),
    (
        {"prices": {"g4dn.metal": "1"}},
        "prices.g4dn.metal: must be dollars an hour, a number, but found '1'",
    ),
    ({"prices": {"g4dn.metal": -1}}, "prices.g4dn.metal: must be from 0 to 10000 dollars but"),
    (
        {"prices": {"g4dn.metal": {"monthly": 9}}},
        "prices.g4dn.metal.monthly: unknown option; prices are of on_demand and spot",
    ),
    (
        {"subnet_ids": [f"subnet-{n}" for n in range(31)], "spot": "prefer"},
        "instance_types: has 1 types in 31 places on 2 markets, which are 62 offers: at most 60",
    ),
    ({"instance_typ": "x"}, "instance_typ: unknown option; did you mean instance_type?"),
]


@pytest.mark.parametrize(("options", "text"), WRONG)
@covers("scheduling-and-provisioning c.7.image c.7.ssh_key c.7.volume")
def test_a_mistake_is_refused_with_its_remedy(
    tmp_path: Path, options: dict[str, Any], text: str
) -> None:
    [problem] = problems(tmp_path, {**LEAST, **options})
    assert problem.startswith(text)


@pytest.mark.parametrize(
    ("options", "machines"),
    [
        ({}, 5),
        ({"max_cost_per_hour": 2.2}, 2),
        ({"max_cost_per_hour": 100}, 5),
        ({"max_cost_per_hour": 2.2, "max_price": 0.9}, 2),
        ({"max_cost_per_hour": 2.2, "spot": "only"}, 4),
        ({"max_cost_per_hour": 2.2, "spot": "prefer"}, 2),
    ],
)
def test_a_budget_lowers_the_maximum_by_the_price_of_the_dearest_type(
    tmp_path: Path, options: dict[str, Any], machines: int
) -> None:
    found = aws(tmp_path, instance_types=["g5.xlarge", "g6.xlarge"], **options)
    assert found.max_machines == machines


def test_given_prices_take_the_place_of_list_prices(tmp_path: Path) -> None:
    found = aws(
        tmp_path,
        instance_types=["p9.huge", "g5.xlarge", "g6.xlarge"],
        instance_slots=1,
        prices={"p9.huge": 2, "g5.xlarge": {"spot": 0.25}},
        spot="prefer",
        offer_order="price",
    )
    assert [(o.machine_type, o.market, o.price_per_hour) for o in found.offers] == [
        ("g5.xlarge", "spot", 0.25),
        ("g6.xlarge", "spot", 0.362),
        ("p9.huge", "spot", 2.0),
        ("g6.xlarge", "on-demand", 0.805),
        ("g5.xlarge", "on-demand", 1.006),
        ("p9.huge", "on-demand", 2.0),
    ]


def price_file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    return str(path)


def test_a_file_of_prices_fills_in_types_without_a_given_price(tmp_path: Path) -> None:
    text = "prices:\n  g5.xlarge: {on_demand: 1.5, spot: 0.5}\n  g6.xlarge: 2\n  p9.other: 3\n"
    found = aws(
        tmp_path,
        instance_types=["g5.xlarge", "g6.xlarge", "g4dn.xlarge"],
        prices={"g6.xlarge": 0.75},
        prices_file=price_file(tmp_path, text),
    )
    assert [o.price_per_hour for o in found.offers] == [1.5, 0.75, 0.526]
    assert found.price_of("g5.xlarge", is_spot=True) == 0.5


def test_a_given_price_of_the_pool_has_precedence_over_the_file(tmp_path: Path) -> None:
    path = price_file(tmp_path, "prices: {g4dn.metal: 9}")
    assert aws(tmp_path, price_per_hour=1.25, prices_file=path).highest_price == 1.25
    assert aws(tmp_path, prices_file=path).highest_price == 9


def test_a_budget_uses_the_prices_of_the_file(tmp_path: Path) -> None:
    path = price_file(tmp_path, "prices: {g4dn.metal: 2}")
    assert aws(tmp_path, max_cost_per_hour=6.5, prices_file=path).max_machines == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("g5.xlarge: 1", "has no map `prices` of machine types and dollars an hour"),
        ("- 1", "has no map `prices`"),
        ("prices: 7", "has no map `prices`"),
        ("prices: {g4dn.metal: cheap}", "prices_file.g4dn.metal: must be dollars an hour, a"),
        ("prices: {other: -1}", "prices_file.other: must be from 0 to 10000 dollars but found -1"),
        ("prices: [", "prices.yaml: unable to convert yaml to json"),
        (None, "does not exist"),
    ],
)
def test_a_file_of_prices_that_cannot_be_used_is_named(
    tmp_path: Path, text: str | None, said: str
) -> None:
    path = str(tmp_path / "none.yaml") if text is None else price_file(tmp_path, text)
    found = problems(tmp_path, {**LEAST, "prices_file": path})
    assert any(line.startswith("prices_file") and said in line for line in found), found


@pytest.mark.parametrize(
    ("given", "read_as"),
    [(True, "only"), (False, "never"), ("prefer", "prefer"), ("only", "only"), ("never", "never")],
)
def test_spot_is_a_word_or_the_boolean_of_the_original(
    tmp_path: Path, given: Any, read_as: str
) -> None:
    found = aws(tmp_path, spot=given)
    assert found.spot == read_as
    told = machine_details(found, ResourcePoolDetail()).aws
    assert told is not None
    assert told.spot_enabled == (read_as != "never")


def test_several_types_and_subnets_take_the_place_of_one(tmp_path: Path) -> None:
    one = aws(tmp_path, network_interface={"subnet_id": "subnet-1"})
    assert (one.types, one.subnets) == (("g4dn.metal",), ("subnet-1",))
    found = aws(
        tmp_path,
        instance_types=["g5.xlarge", "g6.xlarge"],
        subnet_ids=["subnet-1", "subnet-2"],
        offer_order="price",
        max_price=1.5,
    )
    assert found.types == ("g5.xlarge", "g6.xlarge")
    assert found.subnets == ("subnet-1", "subnet-2")
    assert (found.offer_order, found.max_price) == ("price", 1.5)


@covers("scheduling-and-provisioning c.7.unknown_type")
def test_an_unknown_type_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, {**LEAST, "instance_type": "p9.huge"})
    assert problem.startswith('instance_type: "p9.huge" is not known: set instance_slots')
    for known in ("g4dn.metal", "p2.16xlarge", "t2.medium"):
        assert known in problem


PRICES = {
    "1.2.3": 'spot_max_price: "1.2.3" has 2 points: give dollars an hour',
    "$1": "spot_max_price: \"$1\" has the character '$': give dollars an hour",
    "1e3": "spot_max_price: \"1e3\" has the character 'e'",
    "": 'spot_max_price: "" has no digits',
    ".": 'spot_max_price: "." has no digits',
}


@covers("scheduling-and-provisioning c.7.price")
@pytest.mark.parametrize("price", PRICES)
def test_a_price_that_is_none_is_refused(tmp_path: Path, price: str) -> None:
    [problem] = problems(tmp_path, {**LEAST, "spot": True, "spot_max_price": price})
    assert problem.startswith(PRICES[price])
    assert aws(tmp_path, spot_max_price=price).spot_max_price == price


@pytest.mark.parametrize("price", ["1", "0.25", ".5", "OnDemand"])
@covers("scheduling-and-provisioning c.7.price")
def test_a_price_is_digits_with_at_most_one_point(tmp_path: Path, price: str) -> None:
    assert aws(tmp_path, spot=True, spot_max_price=price).spot_max_price == price
