"""Base of servers that accept connections on a thread."""

from __future__ import annotations

import abc
import contextlib
import socket
import threading
from types import TracebackType
from typing import Optional, Type, TypeVar

Self = TypeVar("Self", bound="Acceptor")


class Acceptor(abc.ABC):
    """Accepts connections on a thread until it is closed; use it in a `with` block."""

    def __init__(self, listener: socket.socket, name: str) -> None:
        """
        Args:
            listener: the listening socket; `close` closes it.
            name: the thread's name.
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
        """Stop accepting connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # interrupts accept()
        self._listener.close()

    @abc.abstractmethod
    def _accept(self) -> None:
        """Accept connections until the listener is closed."""
