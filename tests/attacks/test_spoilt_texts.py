"""N18: a NUL that a user sends is stored, or stops a request with an internal error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api.cases_experiments import CONFIG
from tests.api.samples import World

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sections.mounts import DEVICE
from determined_master.domain.errors import InvalidArgument
from determined_master.settings.yaml_text import parse_yaml


@pytest.mark.parametrize("device", ["/dev/a:/dev/b\0", "/dev/a\0:/dev/b", "/dev/a:/dev/\ud800"])
def test_a_device_holds_no_nul_in_either_form(device: str) -> None:
    host, _, container = device.partition(":")
    for value in (device, {"host_path": host, "container_path": container}):
        report = ProblemReport()
        DEVICE.read(value, "device", report)
        assert any("must not contain" in problem.text for problem in report.problems)


@pytest.mark.parametrize(
    "text",
    [
        'a: "x\\0y"', '"a\\0": x', '[1, ["\\x00"]]', 'a: "\\u0000"', 'data: {a: {b: "\\0"}}',
        'hyperparameters: {a: {type: const, val: "\\0"}}',
        'environment: {pod_spec: {spec: {x: "\\0"}}}', 'a: !!str "\\0"', 'x: &a "\\0"\ny: *a',
        '<<: {a: "\\0"}', 'searcher: {name: "\\uD800"}',
    ],
)  # fmt: skip
def test_no_configuration_holds_a_nul(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"line \d: .*leave it out|unable to convert yaml"):
        parse_yaml(text)


MOUNTS = [{"host_path": "/a", "container_path": "/b\0"}]
DEVICES = {"devices": ["/dev/a:/dev/b\0"]}
REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/v1/workspaces", {"name": "nul\0"}),
    ("POST", "/api/v1/models", {"name": "nul\0", "metadata": {"a\0": "b\0"}}),
    ("PUT", "/api/v1/templates/nul", {"name": "nul", "config": {"description": "\0"}}),
    ("POST", "/api/v1/templates/nul2", {"name": "nul2", "config": {"data": {"a\0": "\0"}}}),
    ("POST", "/api/v1/users", {"user": {"username": "nul\0"}, "password": "12345678"}),
    ("POST", "/api/v1/auth/login", {"username": "nul\0", "password": "\0"}),
    ("POST", "/login", {"username": "nul\0", "password": "\0"}),
    ("POST", "/api/v1/users/setting", {"settings": [{"key": "a\0", "value": "\0"}]}),
    ("POST", "/api/v1/tokens", {"userId": 2, "description": "\0"}),
    ("POST", "/api/v1/commands", {"config": {"entrypoint": ["a\0"], "description": "\0"}}),
    ("POST", "/api/v1/commands", {"config": {"entrypoint": ["a"], "bind_mounts": MOUNTS}}),
    ("POST", "/api/v1/commands", {"config": {"entrypoint": ["a"], "resources": DEVICES}}),
    ("POST", "/api/v1/commands", {"config": {"entrypoint": ["a"]}, "files": [{"path": "a\0"}]}),
    ("POST", "/api/v1/generic-tasks", {"config": json.dumps({"entrypoint": ["a\0"]})}),
    ("POST", "/api/v1/experiments", {"config": CONFIG + '\ndescription: "a\\0"\n'}),
    ("POST", "/api/v1/experiments", {"config": CONFIG + '\nresources: {devices: ["/a:/b\\0"]}\n'}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_a_nul_in_a_request_is_neither_stored_nor_an_internal_error(world: World) -> None:
    user = world.clients["admin"]
    for method, path, body in REQUESTS:
        answer = await user(method, path, body)
        assert answer.status < 500, (path, answer.text)
    for path in ("/api/v1/workspaces?name=%00", "/api/v1/models/%00", "/api/v1/tasks/a%00b"):
        assert (await user("GET", path)).status < 500
    for table in ("workspaces", "experiments", "commands", "templates", "models"):
        for path in (f"/api/v1/{table}?limit=200",):
            answer = await user("GET", path)
            assert b"\\u0000" not in answer.body
