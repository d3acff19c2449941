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
