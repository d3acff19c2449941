"""Calls and answers are compared with what Google documents of them."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from tests.backends.cloud.discovery import COMPUTE
from tests.backends.cloud.gcp_server import GcpServer

ZONE = "/projects/lab/zones/us-west1-b"
REGION = "/projects/lab/regions/us-west1"


@pytest.mark.parametrize(
    ("verb", "path", "name"),
    [
        ("GET", f"{ZONE}/instances", "instances.list"),
        ("POST", f"{ZONE}/instances/bulkInsert", "instances.bulkInsert"),
        ("POST", f"{REGION}/instances/bulkInsert", "regionInstances.bulkInsert"),
        ("DELETE", f"{ZONE}/instances/a-1", "instances.delete"),
        ("GET", f"{ZONE}/operations/op-1", "zoneOperations.get"),
        ("PUT", f"{ZONE}/instances", ""),
        ("GET", f"{ZONE}/instances/a/b", ""),
    ],
)  # fmt: skip
def test_calls_have_the_names_of_methods(verb: str, path: str, name: str) -> None:
    assert COMPUTE.method_of(verb, path) == name


@pytest.mark.parametrize(
    ("query", "body", "fault"),
    [
        ({"requestId": "x", "colour": "red"}, {}, "parameter colour is not known"),
        ({}, None, "the body is missing"),
        ({}, {"count": 3}, "body.count: 3 is not of type string"),
        ({}, {"count": "many"}, "body.count: 'many' is not a whole number"),
        ({}, {"howMany": "3"}, "body.howMany is not known"),
        (
            {},
            {"instanceProperties": {"scheduling": {"preemptible": "yes"}}},
            "body.instanceProperties.scheduling.preemptible: 'yes' is not of type boolean",
        ),
        (
            {},
            {"instanceProperties": {"disks": [{"boot": True, "size": 1}]}},
            "body.instanceProperties.disks[0].size is not known",
        ),
    ],
)
def test_a_request_that_differs_is_reported(query: dict[str, str], body: Any, fault: str) -> None:
    path = f"{ZONE}/instances/bulkInsert"
    assert list(COMPUTE.request_faults("instances.bulkInsert", path, query, body)) == [
        f"instances.bulkInsert: {fault}"
    ]


def test_an_answer_that_differs_is_reported() -> None:
    wrong = {"items": [{"name": "a", "status": "ASLEEP"}]}
    [fault] = COMPUTE.answer_faults("instances.list", wrong)
    assert fault.startswith("instances.list: answer.items[0].status: 'ASLEEP' is none of ")


def test_numbers_are_no_truth_values() -> None:
    assert list(COMPUTE.faults("x", {"type": "integer"}, True)) == [
        "x: True is not of type integer"
    ]


def test_the_emulator_notes_a_call_that_is_not_documented(gcp_server: GcpServer) -> None:
    request = urllib.request.Request(
        f"{gcp_server.url}{ZONE}/instances?filter=x&colour=red",
        headers={"Authorization": f"Bearer {gcp_server.token}"},
    )
    with urllib.request.urlopen(request) as answer:
        assert json.loads(answer.read())["kind"] == "compute#instanceList"
    assert gcp_server.differences == ["instances.list: parameter colour is not known"]
    gcp_server.differences.clear()
