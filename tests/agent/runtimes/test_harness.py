"""What the agent makes importable in tasks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.object_server import object_server

from determined_agent.runtimes import harness

STORE = """
import sys
from determined.common import storage
config = {"type": "s3", "bucket": sys.argv[1], "endpoint_url": sys.argv[2]}
storage.build({**config, "access_key": "key", "secret_key": "secret"}).validate()
import obstore
print(obstore.__file__)
"""


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.xdist_group("objects")
def test_a_python_without_packages_stores_in_a_bucket(tmp_path: Path) -> None:
    links = tmp_path / "links"
    assert harness.link_harness(links) == []
    assert harness.link_harness(links) == []  # a restarted agent finds its links
    with object_server() as server:
        done = subprocess.run(
            [sys.executable, "-S", "-c", STORE, server.new_bucket(), server.url],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(links)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.stderr == ""
    assert done.stdout.startswith(str(links / "storage-client" / "obstore"))


def test_the_client_of_buckets_is_not_on_the_search_path_of_tasks(tmp_path: Path) -> None:
    """It would come before the version that the image has."""
    harness.link_harness(tmp_path / "links")
    assert sorted(path.name for path in (tmp_path / "links").iterdir()) == [
        "determined",
        "ruamel",
        "storage-client",
        "urllib3",
    ]
    assert set(harness.locate_harness()) == {
        "determined",
        "ruamel",
        "storage-client/certifi",
        "storage-client/obstore",
        "urllib3",
    }


def test_an_agent_without_the_client_gives_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(harness, "STORAGE_CLIENT", ("not_installed_anywhere",))
    assert harness.link_harness(tmp_path / "links") == []
    assert set(harness.locate_harness()) == {"determined", "ruamel", "urllib3"}
