"""Users of the cluster."""

from __future__ import annotations

from typing import Any, Dict, Optional

from determined.common.api import BaseSession, authentication


class User:
    """A user by id. `reload` and the calls that return one set its attributes."""

    def __init__(self, user_id: int, session: BaseSession) -> None:
        self.user_id = user_id
        self._session = session
        self.username: Optional[str] = None
        self.admin: Optional[bool] = None
        self.active: Optional[bool] = None
        self.remote: Optional[bool] = None
        self.display_name: Optional[str] = None

    def __repr__(self) -> str:
        return f"User(user_id={self.user_id}, username={self.username!r})"

    def reload(self) -> None:
        """Read the user from the master."""
        self._hydrate(self._session.get(f"/api/v1/users/{self.user_id}").json()["user"])

    def rename(self, new_username: str) -> None:
        """Change the login name."""
        self._patch({"username": new_username})

    def change_display_name(self, display_name: str) -> None:
        self._patch({"displayName": display_name})

    def change_password(self, new_password: str) -> None:
        """Set the password, which ends all sessions of the user.

        Raises:
            ValueError: the master refuses it.
        """
        self._patch(authentication.new_password(self._session, new_password))

    def activate(self) -> None:
        """Let the user log in again."""
        self._patch({"active": True})

    def deactivate(self) -> None:
        """Prevent the user from logging in."""
        self._patch({"active": False})

    def link_with_agent(
        self,
        agent_uid: Optional[int] = None,
        agent_gid: Optional[int] = None,
        agent_user: Optional[str] = None,
        agent_group: Optional[str] = None,
    ) -> None:
        """Set the user and group on agents that run the user's tasks."""
        group = {
            "agentUid": agent_uid,
            "agentUser": agent_user,
            "agentGid": agent_gid,
            "agentGroup": agent_group,
        }
        self._patch({"agentUserGroup": group})

    def _patch(self, changes: Dict[str, Any]) -> None:
        body = self._session.patch(f"/api/v1/users/{self.user_id}", json=changes).json()
        self._hydrate(body["user"])

    def _hydrate(self, body: Dict[str, Any]) -> None:
        self.user_id = body["id"]
        self.username = body["username"]
        self.admin = body["admin"]
        self.active = body["active"]
        self.remote = body.get("remote")
        self.display_name = body.get("displayName")
