"""A workspace: what projects belong to."""

from __future__ import annotations

from typing import Any, Dict, Optional

from determined.common.api import BaseSession


class Workspace:
    """A workspace by id or name. Attributes are empty until `reload`.

    Raises:
        ValueError: neither id nor name is given.
    """

    def __init__(
        self,
        session: BaseSession,
        workspace_id: Optional[int] = None,
        workspace_name: Optional[str] = None,
    ) -> None:
        if workspace_id is None and workspace_name is None:
            raise ValueError("a workspace is named by its id or its name")
        self._session = session
        self._id = workspace_id
        self.name = workspace_name
        self.archived: Optional[bool] = None

    @property
    def id(self) -> int:
        """The workspace's number."""
        if self._id is None:
            self.reload()
        assert self._id is not None
        return self._id

    def reload(self) -> None:
        """Read the workspace from the master.

        Raises:
            ValueError: none has this name.
        """
        if self._id is not None:
            body = self._session.get(f"/api/v1/workspaces/{self._id}").json()["workspace"]
        else:
            params = {"nameCaseSensitive": self.name}
            found = self._session.get("/api/v1/workspaces", params=params).json()["workspaces"]
            if not found:
                raise ValueError(f"there is no workspace named {self.name!r}")
            body = found[0]
        self._hydrate(body)

    def _hydrate(self, body: Dict[str, Any]) -> None:
        self._id = body["id"]
        self.name = body["name"]
        self.archived = body["archived"]
