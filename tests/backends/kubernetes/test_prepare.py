"""The program of the init container, against a server that stands for a master."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.master_double import MasterDouble

from determined_master.backends.kubernetes.manifest import prepare


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch) -> Iterator[MasterDouble]:
    with MasterDouble() as double:
        monkeypatch.setenv("DET_MASTER", double.url)
        yield double


def test_a_pod_waits_for_a_master_whose_gateway_has_no_route_to_it(
    master: MasterDouble, tmp_path: Path
) -> None:
    answers = iter([(404, b"404 page not found"), (503, b""), (200, b"the harness")])
    master.on("GET", "/task/harness.tar.gz$", lambda _: next(answers))
    assert prepare.fetch(str(tmp_path)) == b"the harness"


def test_a_master_without_the_harness_ends_the_pod(master: MasterDouble, tmp_path: Path) -> None:
    master.on("GET", "/task/harness.tar.gz$", (404, {"error": {"error": "not found"}}))
    with pytest.raises(SystemExit, match="does not give the task's files: HTTP 404"):
        prepare.fetch(str(tmp_path))
    assert len(master.calls) == 1
