"""Projects, which group experiments."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from determined.common.api import BaseSession
from determined.common.experimental import experiment, lists


class Project:
    """A project by its id. `reload` and the calls that return one set its attributes."""

    def __init__(self, session: BaseSession, project_id: int) -> None:
        self._session = session
        self.id = project_id
        self.archived: Optional[bool] = None
        self.description: Optional[str] = None
        self.n_active_experiments: Optional[int] = None
        self.n_experiments: Optional[int] = None
        self.name: Optional[str] = None
        self.notes: Optional[List[Dict[str, str]]] = None
        self.workspace_id: Optional[int] = None
        self.username: Optional[str] = None
        self.key: Optional[str] = None

    def __repr__(self) -> str:
        return f"Project(id={self.id})"

    def reload(self) -> None:
        """Read the project from the master."""
        self._hydrate(self._session.get(self._path()).json()["project"])

    def list_experiments(self) -> List[experiment.Experiment]:
        """All of its experiments, of all users."""
        found = []
        params = {"projectId": self.id}
        for body in lists.iterate(self._session, "/api/v1/experiments", "experiments", params):
            one = experiment.Experiment(body["id"], self._session)
            one._hydrate(body)
            found.append(one)
        return found

    def set_description(self, description: str) -> None:
        self._patch({"description": description})

    def set_key(self, key: str) -> None:
        """Set the key, up to five letters and digits."""
        self._patch({"key": key})

    def set_name(self, name: str) -> None:
        self._patch({"name": name})

    def archive(self) -> None:
        """Hide it from lists."""
        self._session.post(f"{self._path()}/archive")
        self.reload()

    def unarchive(self) -> None:
        """Show it in lists again."""
        self._session.post(f"{self._path()}/unarchive")
        self.reload()

    def add_note(self, name: str, contents: str) -> None:
        body = {"name": name, "contents": contents}
        self.notes = self._session.post(f"{self._path()}/notes", json=body).json()["notes"]

    def remove_note(self, name: str) -> None:
        """Remove the note with this name.

        Raises:
            ValueError: there is no such note, or several.
        """
        self.reload()
        kept = [note for note in self.notes or () if note["name"] != name]
        removed = len(self.notes or ()) - len(kept)
        if removed != 1:
            count = "no note" if not removed else f"{removed} notes"
            raise ValueError(f"project {self.id} has {count} named {name!r}")
        answer = self._session.put(f"{self._path()}/notes", json={"notes": kept})
        self.notes = answer.json()["notes"]

    def _path(self) -> str:
        return f"/api/v1/projects/{self.id}"

    def _patch(self, changes: Dict[str, Any]) -> None:
        self._hydrate(self._session.patch(self._path(), json=changes).json()["project"])

    def _hydrate(self, body: Dict[str, Any]) -> None:
        self.archived = body["archived"]
        self.description = body["description"]
        self.n_active_experiments = body["numActiveExperiments"]
        self.n_experiments = body["numExperiments"]
        self.name = body["name"]
        self.notes = body["notes"]
        self.workspace_id = body["workspaceId"]
        self.username = body["username"]
        self.key = body["key"]
