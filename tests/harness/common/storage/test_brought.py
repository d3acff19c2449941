"""The client of buckets that a task without one fetches from the master."""

from __future__ import annotations

import contextlib
import http.server
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from tests.object_server import object_server

from determined_agent.runtimes import harness
from determined_master.services.containers.harness import pack_storage_client

STORE = """
import sys
from determined.common import storage
config = {"type": "s3", "bucket": sys.argv[1], "endpoint_url": sys.argv[2]}
storage.build({**config, "access_key": "key", "secret_key": "secret"}).validate()
"""


@contextlib.contextmanager
def master(content: bytes | None) -> Iterator[tuple[str, list[str]]]:
    """One that has the archive, or does not; its address and the requests so far."""
    requests: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(f"{self.path} {self.headers['Grpc-Metadata-x-allocation-token']}")
            body = b'{"error": {"reason": "none here"}}' if content is None else content
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Type", "application/json" if content is None else "x/gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def run(folder: pathlib.Path, address: str, *arguments: str) -> str:
    """Run STORE with a Python without packages, in a task whose agent gives no client."""
    links = folder / "links"
    if not links.exists():
        harness.link_harness(links)
        shutil.rmtree(links / "storage-client")
        (folder / "run").mkdir()
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(links),
        "DET_MASTER": address,
        "DET_SESSION_TOKEN": "of-the-task",
        "DET_RUN_DIR": str(folder / "run"),
    }
    done = subprocess.run(
        [sys.executable, "-S", "-c", STORE, *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stderr


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.xdist_group("objects")
def test_one_process_of_a_task_fetches_it_for_all(tmp_path: pathlib.Path) -> None:
    with object_server() as objects, master(pack_storage_client()) as (address, requests):
        bucket = objects.new_bucket()
        assert run(tmp_path, address, bucket, objects.url) == ""
        assert run(tmp_path, address, bucket, objects.url) == ""
    assert requests == [f"/task/storage-client/{platform.machine()} Bearer of-the-task"]
    assert os.listdir(tmp_path / "run") == ["storage-client"]


@pytest.mark.slow
def test_a_master_without_it_is_named_with_the_remedy_for_the_image(
    tmp_path: pathlib.Path,
) -> None:
    with master(None) as (address, _):
        text = run(tmp_path, address, "bucket", "http://127.0.0.1:1")
    assert "the master gives none: " in text
    assert "none here" in text
    assert "add obstore or boto3 to the task's image (pip install obstore)" in text
    assert os.listdir(tmp_path / "run") == []
