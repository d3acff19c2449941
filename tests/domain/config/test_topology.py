"""`resources.topology`: all pods of a trial in one part of a cluster."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.domain.config.builders import LAYERS, build, problems

from determined_master.domain.config.layers import PoolLayer
from determined_master.domain.config.sections.resources import TopologyConfig

PODS = replace(LAYERS, pools={"default": PoolLayer(places_pods=True)})


@pytest.mark.parametrize(
    ("given", "typed"),
    [
        ({"domain": "rack"}, TopologyConfig(domain="rack")),
        (
            {"domain": "hostname", "required": True},
            TopologyConfig(domain="hostname", is_required=True),
        ),
        (None, None),
    ],
)
def test_a_domain_is_preferred_or_required(given: Any, typed: Any) -> None:
    built = build(PODS, resources={"topology": given})
    assert built.typed.resources.topology == typed
    assert built.warnings == ()


def test_a_configuration_without_a_domain_is_shown_as_before() -> None:
    assert "topology" not in build(PODS).config["resources"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"domain": "room"}, "resources.topology.domain: "),
        ({"required": True}, "resources.topology: domain is a required property"),
        ("rack", "resources.topology: "),
        ({"domain": "rack", "size": 2}, "resources.topology"),
    ],
)
def test_an_unknown_domain_is_refused_with_its_path(given: Any, said: str) -> None:
    assert [line for line in problems(PODS, resources={"topology": given}) if said in line]


def test_a_pool_of_agents_does_not_ignore_it_silently() -> None:
    [warning] = build(resources={"topology": {"domain": "rack"}}).warnings
    assert "resources.topology" in warning
    assert "has no effect in a pool of agents" in warning
