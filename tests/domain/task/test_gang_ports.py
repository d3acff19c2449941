"""Ports are taken by host, and a container's own only where it shares one."""

from __future__ import annotations

from determined_master.domain.task.gang_ports import (
    TRIAL_PORTS,
    choose_ports,
    ports_by_rank,
    ports_of_rank,
    wanted_ports,
)


def hosts(*names: str) -> list[frozenset[str]]:
    return [frozenset(name.split()) for name in names]


def test_containers_on_machines_of_their_own_have_the_same_ports() -> None:
    ports = choose_ports(wanted_ports(hosts("a", "b", "c")), frozenset())
    assert ports == TRIAL_PORTS
    assert ports_of_rank(ports, 2) == TRIAL_PORTS
    assert ports_by_rank(ports, 3) == {}


def test_each_further_container_of_a_machine_listens_elsewhere() -> None:
    ports = choose_ports(
        wanted_ports(hosts("a 10.0.0.1", "b 10.0.0.2", "x 10.0.0.1")), frozenset()
    )
    assert ports_by_rank(ports, 3) == {
        "DTRAIN_SSH_PORT": [12350, 12350, 12351],
        "C10D_PORT": [29400, 29400, 29401],
    }
    assert ports_of_rank(ports, 1) == TRIAL_PORTS
    assert ports_of_rank(ports, 2) == {**TRIAL_PORTS, "DTRAIN_SSH_PORT": 12351}


def test_machines_that_nobody_knows_are_not_taken_for_one() -> None:
    assert wanted_ports(hosts("", "")) == TRIAL_PORTS


def test_a_number_is_the_lowest_that_nobody_has() -> None:
    assert choose_ports({"a": 5, "b": 5, "c": 6}, frozenset({5, 7})) == {"a": 6, "b": 8, "c": 9}
