"""Resource pools and their bindings."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional
from urllib.parse import quote

from determined.common.api import BaseSession
from determined.common.experimental import lists


class ResourcePool:
    """A resource pool by its name.

    A pool that is bound to workspaces runs tasks of these workspaces only. Each call raises
    NotFoundException if the pool or a workspace does not exist.
    """

    def __init__(self, session: BaseSession, name: str = "") -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"

    def add_bindings(self, workspace_names: List[str]) -> None:
        """Bind the pool to further workspaces."""
        self._session.post(self._path(), json=self._named(workspace_names))

    def remove_bindings(self, workspace_names: List[str]) -> None:
        """Remove bindings; missing ones are ignored."""
        self._session.delete(self._path(), json=self._named(workspace_names))

    def replace_bindings(self, workspace_names: List[str]) -> None:
        """Bind the pool to exactly these workspaces."""
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
