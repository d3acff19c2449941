"""A master's machine that installs from the wheels that `up` has uploaded, and from no index."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.backends.cloud.google_project import GoogleProject
from tests.backends.cloud.metadata_server import ON_GCP, gcp_metadata
from tests.cli.conftest import Det
from tests.cli.deploy.gcp.conftest import PROJECT
from tests.cli.deploy.wheelhouse_machine import fill_wheelhouse, start_without_index

pytestmark = pytest.mark.slow
UP = ("deploy", "--no-wait-for-master", "gcp", "up", "--cluster-id", "lab")


def test_the_master_and_its_agents_need_no_package_index(
    det: Det, gcp: GoogleProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = fill_wheelhouse(tmp_path, monkeypatch)
    done = det(*UP, "--project-id", PROJECT, "--wheelhouse", str(house))
    assert done.status == 0, done.err
    items = gcp.instances["determined-lab-master"]["metadata"]["items"]
    [script] = [one["value"] for one in items if one["key"] == "startup-script"]
    with gcp_metadata(ON_GCP) as url:
        variables = {**gcp.variables(), "GCE_METADATA_HOST": urlsplit(url).netloc}
        start_without_index(tmp_path / "machine", str(script), variables)
