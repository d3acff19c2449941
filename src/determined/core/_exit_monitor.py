"""How this process is about to end, for those who have to tell it."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, NoReturn, Optional, Type


class ExitMonitor:
    """Notes an exception that nobody caught, and a `sys.exit` with a code that means failure.

    `with` blocks see both by themselves; a context that is closed at the process's end does not.
    """

    def __init__(self) -> None:
        self.failed = False
        self._hook: Any = None
        self._exit: Any = None

    def start(self) -> None:
        """Begin to note."""
        self._hook, self._exit = sys.excepthook, sys.exit
        sys.excepthook = self._note_exception
        sys.exit = self._note_exit

    def close(self) -> None:
        """Put back what was there before, unless somebody else stands there now."""
        if sys.excepthook == self._note_exception:
            sys.excepthook = self._hook
        if sys.exit == self._note_exit:
            sys.exit = self._exit

    def _note_exception(
        self, kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]
    ) -> None:
        self.failed = True
        self._hook(kind, error, trace)

    def _note_exit(self, status: Any = None) -> NoReturn:
        if status not in (None, 0):
            self.failed = True
        self._exit(status)
        raise SystemExit(status)
