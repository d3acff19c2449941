"""A resource pool: where tasks find their slots."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional
from urllib.parse import quote

from determined.common.api import BaseSession
from determined.common.experimental import lists


class ResourcePool:
    """A resource pool by its name.

    A pool that is bound to workspaces takes work of those alone. Each call raises
    NotFoundException when there is no such pool or workspace.
    """

    def __init__(self, session: BaseSession, name: str = "") -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"

    def add_bindings(self, workspace_names: List[str]) -> None:
        """Bind the pool to workspaces, beside those that it is bound to."""
        self._session.post(self._path(), json=self._named(workspace_names))

    def remove_bindings(self, workspace_names: List[str]) -> None:
        """Take bindings away; one that there is not is no error."""
        self._session.delete(self._path(), json=self._named(workspace_names))

    def replace_bindings(self, workspace_names: List[str]) -> None:
        """Bind the pool to these workspaces and no others."""
        self._session.put(self._path(), json=self._named(workspace_names))

    def list_workspaces(self) -> List[Optional[str]]:
        """The names of the workspaces that the pool is bound to."""
        numbers: Iterator[Any] = lists.iterate(self._session, self._path(), "workspaceIds", {})
        return [
            self._session.get(f"/api/v1/workspaces/{number}").json()["workspace"]["name"]
            for number in numbers
        ]

    def _path(self) -> str:
        return f"/api/v1/resource-pools/{quote(self.name, safe='')}/workspace-bindings"

    def _named(self, workspace_names: List[str]) -> Dict[str, Any]:
        return {"resourcePoolName": self.name, "workspaceNames": workspace_names}
