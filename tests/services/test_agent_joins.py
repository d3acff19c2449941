"""Who may join the cluster as an agent, and what the others are told."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers

from determined_master.services.cluster.agents import Join
from determined_wire.agent_link import Hello


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
    values: dict[str, Any] = {"is_open": False, "allow_process_runtime": False}
    return Join(["good", "shared"], **(values | overrides))


def test_an_agent_with_the_token_joins_and_so_does_any_where_joining_is_open() -> None:
    for token in ("good", "shared"):
        assert policy().check(hello(join_token=token), "10.0.0.7") is None
    assert policy(is_open=True).check(hello(join_token=""), "10.0.0.7") is None


@covers("agent-config 2.resource_pool 4.refused")
@covers("scheduling-and-provisioning d.1.unknown_pool d.4.pool_gone")
@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"join_token": "bad"}, "gave a wrong join token: run `det -u admin agent token`"),
        ({"join_token": ""}, "gave no join token: run `det -u admin agent token`"),
        ({"resource_pool": "gone"}, "to join resource pool 'gone', which does not exist"),
        ({"resource_pool": "gone"}, "set its option `resource_pool` to one of default"),
        ({"runtime": "process"}, "use another `container_runtime`, or set"),
    ],
)
def test_others_are_refused_with_the_remedy(overrides: dict[str, Any], said: str) -> None:
    refusal = policy().check(hello(**overrides), "10.0.0.7")
    assert refusal is not None
    assert refusal.startswith("agent gpu-7 ")
    assert said in refusal


@covers("agent-config 4.refused 2.tls.client")
@covers("scheduling-and-provisioning d.1.certificate")
def test_where_certificates_are_asked_for_one_must_be_shown() -> None:
    strict = policy(needs_certificate=True)
    assert strict.check(hello(), "10.0.0.7", certificate=frozenset()) is None
    refusal = strict.check(hello(), "10.0.0.7")
    assert refusal is not None
    assert refusal.startswith("agent gpu-7 at 10.0.0.7 showed no certificate: set its options")
    assert policy().check(hello(), "10.0.0.7") is None


def test_where_ids_are_verified_a_certificate_opens_its_own_agents_place_only() -> None:
    strict = policy(needs_certificate=True, verifies_ids=True)
    for names in ({"gpu-7"}, {"machine-7.example", "gpu-7"}):
        assert strict.check(hello(), "10.0.0.7", certificate=frozenset(names)) is None
    refusal = strict.check(hello(), "10.0.0.7", certificate=frozenset({"gpu-8", "gpu-70"}))
    assert refusal is not None
    assert refusal.startswith("agent gpu-7 at 10.0.0.7 showed a certificate of gpu-70, gpu-8: ")
    assert strict.check(hello(), "10.0.0.7", certificate=frozenset()) is not None
    lax = policy(needs_certificate=True)
    assert lax.check(hello(), "10.0.0.7", certificate=frozenset({"gpu-8"})) is None
