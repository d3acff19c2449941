"""Finding 4: a storage's endpoint makes the master call any address."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.samples import World
from tests.api.test_downloads import registered

from determined_master.backends.buckets.object_storage import ObjectStorage, region_of_bucket
from determined_master.domain.checkpoints.access import StorageAccess
from determined_master.domain.errors import FailedPrecondition, Unavailable
from determined_master.services.checkpoints.files import CheckpointFiles

SECRET = b"inside of the network"


class Inner:
    """A server that the master can reach and users cannot; its first address may redirect."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.redirects_to = ""
        inner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                inner.asked.append(self.path)
                self.send_response(307 if inner.redirects_to else 200)
                if inner.redirects_to:
                    self.send_header("location", inner.redirects_to)
                for name, value in (("etag", '"a"'), ("content-length", str(len(SECRET)))):
                    self.send_header(name, value)
                self.send_header("last-modified", "Wed, 21 Oct 2015 07:28:00 GMT")
                self.end_headers()
                self.wfile.write(SECRET)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def inner() -> Iterator[Inner]:
    made = Inner()
    yield made
    made.close()


@pytest.fixture
def other() -> Iterator[Inner]:
    made = Inner()
    yield made
    made.close()


def bucket(url: str, **overrides: Any) -> dict[str, Any]:
    keys = {"access_key": "a", "secret_key": "b"}
    return {"type": "s3", "bucket": "b", "endpoint_url": url, **keys, **overrides}


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_the_master_calls_no_private_address_for_a_user(world: World, inner: Inner) -> None:
    user: Client = world.clients["user"]
    for url in (inner.url, inner.url.replace("127.0.0.1", "localhost")):
        uuid = await registered(user, bucket(url))
        for path in (f"/checkpoints/{uuid}", f"/checkpoints/{uuid}/manifest"):
            answer = await user("GET", path)
            assert answer.status == 400
            assert "checkpoint_storage.allowed_endpoints" in answer.text
    assert inner.asked == []


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_the_master_signs_nothing_with_its_own_role_for_a_user(
    world: World, inner: Inner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of the master")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of the master")
    user: Client = world.clients["user"]
    buckets: Any = world.services[CheckpointFiles]._buckets
    monkeypatch.setattr(buckets, "_access", StorageAccess(allowed_endpoints=[inner.url]))
    for storage in (
        {"type": "s3", "bucket": "b", "endpoint_url": inner.url},
        {"type": "s3", "bucket": "b"},
        {"type": "gcs", "bucket": "b"},
        {"type": "azure", "container": "c", "account_url": "https://a.blob.core.windows.net"},
    ):
        answer = await user("GET", f"/checkpoints/{await registered(user, storage)}")
        assert answer.status == 400
        assert "has no keys" in answer.text
    assert inner.asked == []


def test_the_master_follows_no_redirect_to_another_address(inner: Inner, other: Inner) -> None:
    inner.redirects_to = f"{other.url}/latest/meta-data"
    storage = ObjectStorage(StorageAccess(allowed_endpoints=[inner.url]))
    try:
        with pytest.raises(Unavailable, match="a redirect"):
            storage.content(bucket(inner.url), "k")
        assert inner.asked
        assert other.asked == []
    finally:
        storage.close()


def test_an_endpoint_that_an_admin_names_is_read(inner: Inner) -> None:
    for access in (
        StorageAccess(allowed_endpoints=[inner.url]),
        StorageAccess(own=bucket(inner.url)),
    ):
        storage = ObjectStorage(access)
        try:
            assert storage.content(bucket(inner.url), "k") == SECRET
            assert b"".join(storage.pieces(bucket(inner.url), "k")) == SECRET
        finally:
            storage.close()


def test_azures_emulator_is_at_a_loopback_address() -> None:
    storage = ObjectStorage(StorageAccess())
    section = {"type": "azure", "container": "c"}
    emulator = {**section, "connection_string": "UseDevelopmentStorage=true"}
    with pytest.raises(FailedPrecondition, match=r"127\.0\.0\.1"):
        storage.content(emulator, "k")
    storage.close()


@pytest.mark.parametrize("name", ["evil.example/x?", "127.0.0.1:80/#", "user@host", "a\nb", ""])
def test_the_name_of_a_bucket_leads_to_no_other_host(name: str) -> None:
    assert region_of_bucket(name, "http://{bucket}.127.0.0.1:1/") is None
