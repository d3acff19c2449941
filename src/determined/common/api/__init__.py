"""The client of the master's REST API."""

from determined.common.api._address import canonicalize_master_url
from determined.common.api._retry import RetryPolicy
from determined.common.api._session import BaseSession, Session, UnauthSession
from determined.common.api._task_session import TaskSession

__all__ = [
    "BaseSession",
    "RetryPolicy",
    "Session",
    "TaskSession",
    "UnauthSession",
    "canonicalize_master_url",
]

_MODULE_OF = {"pprint_logs": "logs", "task_logs": "logs", "trial_logs": "logs"}


def __getattr__(name: str) -> object:
    # Logs are messages of the bindings, which few callers of the API need.
    from importlib import import_module

    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"determined.common.api.{_MODULE_OF[name]}"), name)
