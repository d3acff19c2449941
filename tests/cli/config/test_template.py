"""`det template` and `det preview-search`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster, error

ONE = "/api/v1/templates/t"
TEMPLATE: dict[str, Any] = {"name": "t", "config": {"max_restarts": 2}, "workspaceId": 1}
MISSING = error(404, 5, "NotFound", "template 't' not found")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "t.yaml"
    path.write_text("max_restarts: 2\n")
    return str(path)


def test_a_template_is_created_in_a_workspace(det: Det, master: FakeMaster, file: str) -> None:
    master.routes["GET", "/api/v1/workspaces"] = (200, {"workspaces": [{"id": 3, "name": "w"}]})
    master.routes["POST", ONE] = (200, {"template": TEMPLATE})
    assert det("template", "create", "t", file, "-w", "w").out == "Created template t\n"
    (call,) = master.made("POST", ONE)
    assert call.json == {"name": "t", "config": {"max_restarts": 2}, "workspaceId": 3}


def test_set_creates_or_replaces_a_template(det: Det, master: FakeMaster, file: str) -> None:
    master.routes["GET", ONE] = MISSING
    master.routes["POST", ONE] = (200, {"template": TEMPLATE})
    master.routes["PATCH", ONE] = (200, {"template": TEMPLATE})
    assert det("tpl", "set", "t", file).status == 0
    master.routes["GET", ONE] = (200, {"template": TEMPLATE})
    assert det("tpl", "set", "t", file).status == 0
    assert det("tpl", "set-value", "config", "t", file).status == 0
    assert len(master.made("POST", ONE)) == 1
    assert [c.json for c in master.made("PATCH", ONE)] == [{"max_restarts": 2}] * 2


def test_templates_are_listed_described_and_removed(det: Det, master: FakeMaster) -> None:
    master.routes["GET", "/api/v1/templates"] = (200, {"templates": [TEMPLATE]})
    master.routes["GET", ONE] = (200, {"template": TEMPLATE})
    master.routes["DELETE", ONE] = (200, {})
    workspaces = {"workspaces": [{"id": 1, "name": "Uncategorized"}]}
    master.routes["GET", "/api/v1/workspaces"] = (200, workspaces)
    listed = det("template", "list", "-d")
    assert "Uncategorized" in listed.out
    assert "max_restarts" in listed.out
    assert det("template", "describe", "t").out == "max_restarts: 2\n"
    assert det("template", "rm", "t").status == 0
    assert len(master.made("DELETE", ONE)) == 1


def test_the_error_names_a_missing_template(det: Det, master: FakeMaster) -> None:
    master.routes["GET", ONE] = MISSING
    outcome = det("template", "describe", "t")
    assert (outcome.status, "template 't' not found" in outcome.err) == (1, True)


def test_a_search_is_previewed(det: Det, master: FakeMaster, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("searcher: {name: grid, metric: loss}\nx: 1e-4\n")
    route = ("POST", "/api/v1/preview-hp-search")
    trials = [
        {"count": 2, "unit": {"name": "batches", "value": 25, "maxLength": False}},
        {"count": 4, "unit": {"maxLength": True}},
    ]
    summary = {"config": {"name": "grid", "metric": "loss"}, "trials": trials}
    master.routes[route] = (200, {"summary": summary})
    master.sent_headers["x-determined-config-warnings"] = '["hyperparameters.lr: exponents"]'
    outcome = det("preview-search", str(path))
    assert "total of 6 trial(s)" in outcome.out
    assert outcome.err == "Warning: hyperparameters.lr: exponents\n"
    assert "train for 25 batches" in outcome.out
    assert "train to completion" in outcome.out
    (call,) = master.made(*route)
    assert call.json == {"config": {"searcher": {"name": "grid", "metric": "loss"}, "x": 0.0001}}
