"""WebSockets of the live channel take frames that are encoded already.

This is an ASGI extension of our own: `{"type": FRAMES, "frames": [bytes]}`. Viewers of one topic
share the bytes of a frame, and the frames that wait for one of them are written at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.utils import ClientDisconnected

from determined_master.server.tls import AgentSocket

if TYPE_CHECKING:
    from websockets.http11 import Request

FRAMES = "websocket.frames"
PATHS = "/api/ui/"
"""Where WebSockets take frames, and are not compressed: shared bytes cannot be."""


class FramedSocket(AgentSocket):
    """A WebSocket, with the extension at some paths."""

    def handle_connect(self, event: Request) -> None:
        """Begin to serve; the scope is read in a later iteration of the loop."""
        takes_frames = event.path.startswith(PATHS)
        if takes_frames and "Sec-WebSocket-Extensions" in event.headers:
            del event.headers["Sec-WebSocket-Extensions"]
        super().handle_connect(event)
        if takes_frames and self.response.status_code == 101:
            scope: Any = self.scope
            scope["extensions"][FRAMES] = {}

    async def send(self, message: Any) -> None:
        """An ASGI message, or frames."""
        if message["type"] != FRAMES:
            await super().send(message)
            return
        await self.writable.wait()
        if self.disconnected:
            raise ClientDisconnected
        if not self.close_sent:
            self.transport.writelines(message["frames"])
