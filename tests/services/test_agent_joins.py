"""Who may join the cluster as an agent, and what the others are told."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers

from determined_master.services.cluster.admission import Join, JoinRules
from determined_wire.agent_link import Hello

NO_DATABASE: Any = None


def hello(**overrides: Any) -> Hello:
    values: dict[str, Any] = {
        "protocol": 1,
        "agent_id": "gpu-7",
        "boot_id": "b",
        "version": "0",
        "resource_pool": "default",
        "hostname": "h",
        "devices": (),
        "join_token": "good",
        "runtime": "docker",
    }
    return Hello(**(values | overrides))


def policy(**overrides: Any) -> Join:
    """A policy that asks no database."""
    return Join(JoinRules(is_open=True, **overrides), NO_DATABASE, b"secret")


@covers("agent-config 2.resource_pool 4.refused")
@covers("scheduling-and-provisioning d.1.unknown_pool d.4.pool_gone")
@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"resource_pool": "gone"}, "to join resource pool 'gone', which does not exist"),
        ({"resource_pool": "gone"}, "set its option `resource_pool` to one of default"),
        ({"runtime": "process"}, "use another `container_runtime`, or set"),
    ],
)
async def test_others_are_refused_with_the_remedy(overrides: dict[str, Any], said: str) -> None:
    refusal = await policy().check(hello(**overrides), "10.0.0.7")
    assert refusal is not None
    assert refusal.reason.startswith("agent gpu-7 ")
    assert said in refusal.reason


@covers("agent-config 4.refused 2.tls.client")
@covers("scheduling-and-provisioning d.1.certificate")
async def test_where_certificates_are_asked_for_one_must_be_shown() -> None:
    strict = policy(needs_certificate=True)
    assert await strict.check(hello(), "10.0.0.7", certificate=frozenset()) is None
    refusal = await strict.check(hello(), "10.0.0.7")
    assert refusal is not None
    assert refusal.reason.startswith(
        "agent gpu-7 at 10.0.0.7 showed no certificate: set its options"
    )
    assert await policy().check(hello(), "10.0.0.7") is None


async def test_where_ids_are_verified_a_certificate_opens_its_own_agents_place_only() -> None:
    strict = policy(needs_certificate=True, verifies_ids=True)
    for names in ({"gpu-7"}, {"machine-7.example", "gpu-7"}):
        assert await strict.check(hello(), "10.0.0.7", certificate=frozenset(names)) is None
    refusal = await strict.check(hello(), "10.0.0.7", certificate=frozenset({"gpu-8", "gpu-70"}))
    assert refusal is not None
    assert refusal.reason.startswith(
        "agent gpu-7 at 10.0.0.7 showed a certificate of gpu-70, gpu-8: "
    )
    assert await strict.check(hello(), "10.0.0.7", certificate=frozenset()) is not None
    lax = policy(needs_certificate=True)
    assert await lax.check(hello(), "10.0.0.7", certificate=frozenset({"gpu-8"})) is None
