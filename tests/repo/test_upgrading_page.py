"""The page on upgrading, and the sizes of masters that people make themselves."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest
from tests import pages
from tests.named_tests import exists

from determined_master.domain.machines.types import aws_instances, gcp_machines
from determined_master.domain.machines.types.catalog import TypeSpec

PAGE = "upgrading.md"
UNIT = Path(__file__).parents[2] / "deploy/systemd/determined-master.service"
RUN = {
    "det deploy local": "tests/e2e/test_local_cluster.py::"
    "test_kept_tasks_run_while_the_cluster_is_down",
    "det master info": "tests/deploy/helm/test_page_on_cluster.py::"
    "test_the_page_works_as_it_stands_on_cluster",
}
"""Commands of the page by their beginning, and the test that runs them."""
NOT_RUN = {
    "pip install": "no test downloads a release",
    "systemctl": "tests/e2e/test_machine_images.py boots a machine whose enable-master runs it",
}
SIZES = re.compile(r"^\| `(?P<name>[\w.-]+)` \| (?P<cloud>\w+) \|", re.MULTILINE)


def text(page: str = PAGE) -> str:
    return (pages.PAGES / page).read_text()


def spec(name: str, cloud: str) -> TypeSpec:
    found = gcp_machines.spec_of(name) if cloud == "GCP" else aws_instances.TYPES.get(name)
    assert found is not None, f"{cloud} has no {name}"
    return found


def test_each_command_of_the_page_runs_or_has_a_reason() -> None:
    assert pages.unexplained(pages.commands(PAGE), RUN, NOT_RUN) == []
    assert pages.stale(pages.commands(PAGE), [*RUN, *NOT_RUN]) == []


def test_each_claim_names_a_test() -> None:
    named = re.findall(r"`(tests/[\w/.]+::\w+)`", text())
    assert len(named) >= 9
    assert [test for test in (*named, *RUN.values()) if not exists(test)] == []


def test_the_data_of_the_unit_are_where_the_page_mounts_them() -> None:
    """systemd keeps them below /var/lib/private for an account of the service's own."""
    unit = configparser.ConfigParser(strict=False)
    unit.read_string(UNIT.read_text())
    assert unit["Service"]["DynamicUser"] == "yes"
    assert f"`/var/lib/private/{unit['Service']['StateDirectory']}`" in text()


def test_sizes_of_masters_made_by_hand_are_those_of_machine_types() -> None:
    section = text("provisioning.md").partition("### Size of the master's machine\n")[2]
    section = section.partition("\n## ")[0]
    assert "2 cores, 4 GB of memory and 100 GB of disk" in section
    named = [match.groupdict() for match in SIZES.finditer(section)]
    assert {one["cloud"] for one in named} == {"AWS", "GCP"}
    for one in named:
        found = spec(**one)
        assert found.vcpus >= 2, one
        assert found.memory_gib >= 4, one


@pytest.mark.parametrize("page", ["deploy-aws.md", "deploy-gcp.md", "provisioning.md"])
def test_pages_of_clouds_lead_to_the_page(page: str) -> None:
    assert "(upgrading.md" in text(page)
