"""Which agents may join."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers

from determined_master.services.agents import Join
from determined_wire.agent_link import Hello


def hello(**overrides: Any) -> Hello:
    values: dict[str, Any] = {
        "protocol": 1,
        "agent_id": "a7",
        "boot_id": "b",
        "version": "0",
        "resource_pool": "gpus",
        "hostname": "h",
        "devices": (),
        "join_token": "right",
    }
    return Hello(**{**values, **overrides})


def refusal(agent: Hello, **policy: bool) -> str | None:
    flags = {"is_open": False, "allow_process_runtime": False, **policy}
    return Join("right", pools=("default", "gpus"), **flags).check(agent, "10.0.0.9")


@covers("scheduling-and-provisioning d.1.unknown_pool d.4.pool_gone")
def test_an_agent_of_a_pool_that_is_not_there_is_told_pool_id_and_remedy() -> None:
    said = refusal(hello(resource_pool="gone"))
    assert said is not None
    for word in ("a7", "'gone'", "default, gpus", "`resource_pool`"):
        assert word in said


@pytest.mark.parametrize(("token", "what"), [("", "no join token"), ("x", "a wrong join token")])
def test_a_stranger_is_told_how_to_join(token: str, what: str) -> None:
    said = refusal(hello(join_token=token))
    assert said is not None
    assert f"agent a7 at 10.0.0.9 gave {what}: run `det agent token`" in said
    assert refusal(hello(join_token=token), is_open=True) is None


def test_plain_processes_need_the_admins_consent() -> None:
    said = refusal(hello(runtime="process"))
    assert said is not None
    assert "allow_process_runtime" in said
    assert refusal(hello(runtime="process"), allow_process_runtime=True) is None
    assert refusal(hello(runtime="podman")) is None
