"""The metadata services of both clouds, with what a test puts there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler

from tests.backends.cloud.http_servers import Quiet, serving

TOKEN = "t0ken"
ON_AWS: Mapping[str, str] = {
    "placement/region": "us-west-2",
    "instance-id": "i-master",
    "local-ipv4": "10.0.0.5",
    "public-ipv4": "203.0.113.5",
    "local-hostname": "ip-10-0-0-5.internal",
    "public-hostname": "ec2-203-0-113-5.example",
}
ON_GCP: Mapping[str, str] = {
    "project/project-id": "lab",
    "instance/zone": "projects/123/zones/us-west1-b",
    "instance/name": "det-master",
    "instance/network-interfaces/0/ip": "10.0.0.5",
    "instance/network-interfaces/0/access-configs/0/external-ip": "203.0.113.5",
    "instance/service-accounts/default/token": '{"access_token": "gcp-t0ken", "expires_in": 3599}',
}


@contextlib.contextmanager
def aws_metadata(items: Mapping[str, str] = ON_AWS) -> Iterator[str]:
    """That of EC2, version 2; its URL."""

    class Handler(Quiet):
        def do_PUT(self) -> None:
            is_right = self.path == "/latest/api/token"
            asks = "X-aws-ec2-metadata-token-ttl-seconds" in self.headers
            self.reply(200 if is_right and asks else 400, TOKEN.encode(), "text/plain")

        def do_GET(self) -> None:
            if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
                self.reply(401, b"")
                return
            _give(self, items, "/latest/meta-data/")

    with serving(Handler) as url:
        yield url


@contextlib.contextmanager
def gcp_metadata(items: Mapping[str, str] = ON_GCP) -> Iterator[str]:
    """That of Compute Engine; its URL."""

    class Handler(Quiet):
        def do_GET(self) -> None:
            if self.headers.get("Metadata-Flavor") != "Google":
                self.reply(403, b"")
                return
            _give(self, items, "/computeMetadata/v1/")

    with serving(Handler) as url:
        yield url


def _give(handler: BaseHTTPRequestHandler, items: Mapping[str, str], base: str) -> None:
    assert isinstance(handler, Quiet)
    found = items.get(handler.path.removeprefix(base)) if handler.path.startswith(base) else None
    handler.reply(404 if found is None else 200, (found or "").encode(), "text/plain")
