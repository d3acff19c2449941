"""What listens on a thread of its own for as long as it is open."""

from __future__ import annotations

import abc
import contextlib
import socket
import threading
from types import TracebackType
from typing import Optional, Type, TypeVar

Self = TypeVar("Self", bound="Acceptor")


class Acceptor(abc.ABC):
    """Accepts connections while it is open: `with KeyProxy(port, key) as door`."""

    def __init__(self, listener: socket.socket, name: str) -> None:
        """
        Args:
            listener: it is closed with this.
            name: of the thread.
        """
        self._listener = listener
        self._thread = threading.Thread(target=self._accept, name=name, daemon=True)

    def __enter__(self: Self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Accept nobody any more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._listener.close()

    @abc.abstractmethod
    def _accept(self) -> None:
        """Take connections until the listener is closed."""
