"""`det deploy aws prices`: prices of a region, as the master's settings take them."""

from __future__ import annotations

from typing import Any

import pytest
from moto.ec2.models import ec2_backends
from ruamel.yaml import YAML
from tests.backends.cloud.ec2_server import ACCOUNT
from tests.cli.conftest import Det
from tests.cli.deploy.aws.conftest import REGION, Aws

pytestmark = pytest.mark.slow

PRICES = ("deploy", "aws", "prices")


def product(dollars: str, unit: str = "Hrs") -> dict[str, Any]:
    """A product as the price list has it."""
    dimension = {"unit": unit, "pricePerUnit": {"USD": dollars}}
    return {"terms": {"OnDemand": {"SKU.TERM": {"priceDimensions": {"SKU.TERM.6YS": dimension}}}}}


def printed(det: Det, *words: str) -> dict[str, Any]:
    done = det(*PRICES, *words)
    assert done.status == 0, done.err
    found: dict[str, Any] = YAML(typ="safe").load(done.out)["prices"]
    return found


def test_the_prices_of_the_region_are_printed_for_the_settings(
    det: Det, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws.price_list = {
        ("g5.xlarge", REGION): [product("0.0000000000"), product("1.0060000000")],
        ("g5.xlarge", "eu-west-1"): [product("1.1230000000")],
        ("g6.xlarge", REGION): [product("0.8048000000"), product("99", "Quantity")],
    }
    assert printed(det, "g5.xlarge", "g6.xlarge", "g5.xlarge") == {
        "g5.xlarge": {"on_demand": 1.006, "spot": 0.00001},
        "g6.xlarge": {"on_demand": 0.8048, "spot": 0.00001},
    }
    found = printed(det, "g5.xlarge", "--region", "eu-west-1")
    assert found["g5.xlarge"]["on_demand"] == 1.123


def test_a_type_without_spot_machines_has_no_price_of_them(
    det: Det, aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = ec2_backends[ACCOUNT][REGION]
    monkeypatch.setattr(backend, "describe_spot_price_history", lambda *_, **__: [])
    aws.price_list = {("g5.xlarge", REGION): [product("1.006")]}
    assert printed(det, "g5.xlarge") == {"g5.xlarge": {"on_demand": 1.006}}


def test_types_without_any_price_are_named_and_nothing_is_printed(det: Det, aws: Aws) -> None:
    aws.price_list = {("g5.xlarge", REGION): [product("1.006")]}
    done = det(*PRICES, "g5.xlarge", "m9z.huge", "m9z.tiny")
    assert (done.status, done.out) == (1, "")
    assert f"AWS has no price of m9z.huge, m9z.tiny in {REGION}: check the names" in done.err


def test_a_missing_permission_is_named(det: Det, aws: Aws) -> None:
    aws.refusals = {"DescribeSpotPriceHistory": ("UnauthorizedOperation", "You may not.")}
    done = det(*PRICES, "g5.xlarge")
    assert "may not call ec2:DescribeSpotPriceHistory: You may not. Add this" in done.err


def test_the_output_is_a_file_of_prices_for_the_master(det: Det, aws: Aws, tmp_path: Any) -> None:
    from tests.provider_options import read

    aws.price_list = {("g5.xlarge", REGION): [product("1.5")]}
    path = tmp_path / "prices.yaml"
    path.write_text(det(*PRICES, "g5.xlarge", "--region", REGION).out)
    provider = {
        "type": "aws",
        "image_id": "ami-1",
        "ssh_key_name": "key",
        "instance_type": "g5.xlarge",
        "prices_file": str(path),
    }
    [pool] = read(tmp_path, provider).resource_pools
    assert pool.provider is not None
    assert pool.provider.highest_price == 1.5
