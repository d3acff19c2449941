"""Workspaces, which group projects."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from determined.common.api import BaseSession, errors
from determined.common.experimental import lists, project, resource_pool


class Workspace:
    """A workspace by id or name. `reload` sets its attributes.

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
            raise ValueError("a workspace needs an id or a name")
        self._session = session
        self._id = workspace_id
        self.name = workspace_name
        self.archived: Optional[bool] = None

    @property
    def id(self) -> int:
        if self._id is None:
            self.reload()
        assert self._id is not None
        return self._id

    def reload(self) -> None:
        """Read the workspace from the master.

        Raises:
            ValueError: no workspace has this name.
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

    def list_pools(self) -> List[resource_pool.ResourcePool]:
        """The resource pools that its tasks can use."""
        names = self._session.get(f"{self._path()}/available-resource-pools").json()
        return [resource_pool.ResourcePool(self._session, n) for n in names["resourcePools"]]

    def list_projects(self) -> List[project.Project]:
        path = f"{self._path()}/projects"
        return [self._project(b) for b in lists.iterate(self._session, path, "projects", {})]

    def get_project(self, project_name: str) -> project.Project:
        """A project by name.

        Raises:
            NotFoundException: the workspace has no such project.
        """
        path = f"{self._path()}/projects"
        found = self._session.get(path, params={"name": project_name}).json()["projects"]
        if not found:
            raise errors.NotFoundException(
                f"workspace {self.name!r} has no project {project_name!r}"
            )
        return self._project(found[0])

    def create_project(self, name: str, description: Optional[str] = None) -> project.Project:
        body = {"name": name, "description": description, "workspaceId": self.id}
        answer = self._session.post(f"{self._path()}/projects", json=body).json()
        return self._project(answer["project"])

    def delete_project(self, name: str) -> None:
        """Delete a project and its experiments, by name."""
        self._session.delete(f"/api/v1/projects/{self.get_project(name).id}")

    def _path(self) -> str:
        return f"/api/v1/workspaces/{self.id}"

    def _project(self, body: Dict[str, Any]) -> project.Project:
        found = project.Project(self._session, body["id"])
        found._hydrate(body)
        return found

    def _hydrate(self, body: Dict[str, Any]) -> None:
        self._id = body["id"]
        self.name = body["name"]
        self.archived = body["archived"]
