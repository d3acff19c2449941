"""Detection of a failing process exit."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, NoReturn, Optional, Type


class ExitMonitor:
    """Records an uncaught exception, or a `sys.exit` with a failure code.

    A `with` block sees both itself. A context that is closed by `atexit` does not.
    """

    def __init__(self) -> None:
        self.failed = False
        self._hook: Any = None
        self._exit: Any = None

    def start(self) -> None:
        """Install the hooks."""
        self._hook, self._exit = sys.excepthook, sys.exit
        sys.excepthook = self._record_exception
        sys.exit = self._record_exit

    def close(self) -> None:
        """Restore the previous hooks, unless they were replaced again."""
        if sys.excepthook == self._record_exception:
            sys.excepthook = self._hook
        if sys.exit == self._record_exit:
            sys.exit = self._exit

    def _record_exception(
        self, kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]
    ) -> None:
        self.failed = True
        self._hook(kind, error, trace)

    def _record_exit(self, status: Any = None) -> NoReturn:
        if status not in (None, 0):
            self.failed = True
        self._exit(status)
        raise SystemExit(status)
