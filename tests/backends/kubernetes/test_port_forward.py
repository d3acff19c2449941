"""What the master's log says of a node that forwards no connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from determined_master.backends.kubernetes.port_forward import PortForward

PORT = (8080).to_bytes(2, "little")


class Api:
    """An API server whose node ends each connection with an error."""

    def __init__(self, reason: str) -> None:
        self._frames = [b"\0" + PORT, b"\1" + PORT, b"\1" + reason.encode()]

    async def web_socket(self, *_: Any) -> Any:
        return self

    async def __aiter__(self) -> AsyncIterator[Any]:
        for frame in self._frames:
            yield SimpleNamespace(data=frame)

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    ("reason", "level"),
    [
        ("unable to do port forwarding: socat not found", "WARNING"),
        ("exit status 1: connect(5, AF=2): Connection refused\n", "INFO"),
    ],
)
async def test_a_node_that_cannot_forward_is_a_warning_with_its_reason(
    reason: str, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    forward = PortForward(Api(reason))  # type: ignore[arg-type]
    with caplog.at_level(logging.INFO):
        theirs = await forward.connect("default", "pod-1", 8080)
        reader, writer = await asyncio.open_connection(sock=theirs)
        assert await reader.read() == b""
        writer.close()
        await forward.close()
    [record] = caplog.records
    assert record.levelname == level
    assert f"the node of default/pod-1:8080 forwards no connection: {reason.strip()}" == (
        record.getMessage()
    )
