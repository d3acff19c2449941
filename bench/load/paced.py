"""Requests at a steady pace, beside another load."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bench.cluster import HOST, Cluster

LIMIT_S = 30.0

Request = tuple[str, Mapping[str, Any]]
"""Path and body."""


class Sent:
    """What a paced load has sent so far."""

    def __init__(self) -> None:
        self.count = 0
        self.error: Exception | None = None


def paced(
    cluster: Cluster, path: str, bodies: Iterator[Mapping[str, Any]], per_second: float
) -> contextlib.AbstractContextManager[Sent]:
    """POST so many bodies a second to one path over one connection while the block runs."""
    return paced_requests(cluster, ((path, body) for body in bodies), per_second)


@contextlib.contextmanager
def paced_requests(
    cluster: Cluster, requests: Iterator[Request], per_second: float
) -> Iterator[Sent]:
    """POST so many requests a second over one connection while the block runs.

    The next request is taken from the iterator when the one before is answered.

    Raises:
        RuntimeError: an answer was no success.
    """
    sent, over = Sent(), threading.Event()

    def send() -> None:
        connection = http.client.HTTPConnection(HOST, cluster.port, timeout=LIMIT_S)
        due = time.monotonic()
        try:
            for path, body in requests:
                if over.wait(max(0.0, due - time.monotonic())):
                    return
                connection.request("POST", path, msgspec.json.encode(body), cluster.headers())
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 200:
                    raise RuntimeError(f"POST {path}: {answer.status} {text[:500]!r}")
                sent.count += 1
                due = max(due + 1 / per_second, time.monotonic())
        except Exception as error:  # for the thread that waits for this one
            sent.error = error
        finally:
            connection.close()

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()
    if sent.error is not None:
        raise RuntimeError(f"the load beside failed: {sent.error}") from sent.error
