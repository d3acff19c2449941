"""The machines of a pool on demand: their number, price and budget, and what it could get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.backends.cloud.ec2_server import IMAGE
from tests.cli.deploy.aws.conftest import account_of_aws
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import running
from tests.webui.chromium import reason_to_skip

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SETTINGS = f"""
resource_pools:
  - pool_name: default
  - pool_name: cloud
    provider:
      type: aws
      image_id: {IMAGE}
      ssh_key_name: ops
      tag_value: journey
      instance_types: [g4dn.xlarge, g5.xlarge]
      prices: {{g4dn.xlarge: 0.50, g5.xlarge: 1.25}}
      max_price: 1
      max_cost_per_hour: 2
      max_instances: 8
checkpoint_storage: {{type: s3, bucket: checkpoints}}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One pool of machines that AWS would start, and one of agents."""
    missing = reason_to_skip()
    if missing:
        pytest.skip(missing)
    with (
        pytest.MonkeyPatch.context() as patch,
        account_of_aws(patch),
        running(settings=SETTINGS) as made,
    ):
        yield made


def test_a_pool_shows_its_machines_prices_budget_and_offers(cluster: Cluster, visit: Any) -> None:
    page: Page = visit(cluster.address).goto("/resourcepool/cloud/queue")
    page.get_by_role("link", name="Machines").click()
    facts = page.locator("dl").filter(has_text="Machine type")
    expect(facts).to_contain_text("Minimum and maximum")
    shown = dict(
        zip(
            facts.locator("dt").all_inner_texts(),
            facts.locator("dd").all_inner_texts(),
            strict=True,
        )
    )
    assert shown["Minimum and maximum"] == "0 to 4"  # the budget pays for 4
    assert shown["Budget per hour"] == "$2.00"
    assert shown["Price of one per hour"] == "$0.50"
    assert shown["Agents now"] == "0"
    offers = page.get_by_role("region", name="Offers for 1 slot")
    expect(offers.get_by_role("row").nth(1)).to_contain_text("g4dn.xlarge")
    expect(offers.get_by_role("row").nth(2)).to_contain_text("g5.xlarge")
    expect(offers.get_by_role("row").nth(2)).to_contain_text("max_price")
    page.get_by_role("textbox", name="Slots").fill("3")
    offers = page.get_by_role("region", name="Offers for 3 slots")
    expect(offers.get_by_role("row").nth(1)).to_contain_text("$1.50")
    page.get_by_role("textbox", name="Slots").fill("9")
    expect(page.get_by_text("9 slots need 9 machines")).to_be_visible()
    page.get_by_role("textbox", name="Slots").fill("none")
    expect(page.get_by_text("A whole number from 1")).to_be_visible()


def test_a_pool_of_agents_has_no_machines(cluster: Cluster, visit: Any) -> None:
    page: Page = visit(cluster.address).goto("/resourcepool/default/queue")
    expect(page.get_by_role("link", name="What if")).to_be_visible()
    expect(page.get_by_role("link", name="Machines")).to_have_count(0)
    page.goto(f"{cluster.address}/det/resourcepool/default/machines")
    expect(page.get_by_text("This pool has no machines on demand")).to_be_visible()
