"""The model registry: creating and listing models."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Union
from urllib.parse import quote

from determined.common.api import Session
from determined.common.experimental import drawn, lists
from determined.common.experimental.enums import OrderBy
from determined.common.experimental.model import Model, ModelSortBy


class Registry:
    """The methods of `Determined` for models."""

    _session: Session

    def create_model(
        self,
        name: str,
        description: Optional[str] = "",
        metadata: Optional[Dict[str, Any]] = None,
        labels: Optional[List[str]] = None,
        workspace_name: Optional[str] = None,
    ) -> Model:
        """Create a model.

        Raises:
            APIException: the name is invalid or taken, or the workspace does not exist.
        """
        body: Dict[str, Any] = {
            "name": name,
            "description": description,
            "metadata": metadata,
            "labels": labels,
        }
        if workspace_name is not None:
            body["workspaceName"] = workspace_name
        return self._model(self._session.post("/api/v1/models", json=body).json()["model"])

    def get_model(self, identifier: Union[str, int]) -> Model:
        """A model by its name or id."""
        path = f"/api/v1/models/{quote(str(identifier), safe='')}"
        return self._model(self._session.get(path).json()["model"])

    def get_model_by_id(self, model_id: int) -> Model:
        return self.get_model(model_id)

    def get_models(
        self,
        sort_by: ModelSortBy = ModelSortBy.NAME,
        order_by: OrderBy = OrderBy.ASCENDING,
        name: Optional[str] = None,
        description: Optional[str] = None,
        model_id: Optional[int] = None,
        workspace_names: Optional[List[str]] = None,
        workspace_ids: Optional[List[int]] = None,
    ) -> drawn.DrawnList[Model]:
        """The older name of `list_models`."""
        return self.list_models(
            sort_by, order_by, name, description, model_id, workspace_names, workspace_ids
        )

    def list_models(
        self,
        sort_by: ModelSortBy = ModelSortBy.NAME,
        order_by: OrderBy = OrderBy.ASCENDING,
        name: Optional[str] = None,
        description: Optional[str] = None,
        model_id: Optional[int] = None,
        workspace_names: Optional[List[str]] = None,
        workspace_ids: Optional[List[int]] = None,
    ) -> drawn.DrawnList[Model]:
        """The models that match all filters; `name` and `description` match substrings."""
        params = {
            "sortBy": sort_by.value,
            "orderBy": order_by.value,
            "name": name or None,
            "description": description or None,
            "id": model_id,
            "workspaceNames": workspace_names,
            "workspaceIds": workspace_ids,
        }
        found = lists.iterate(self._session, "/api/v1/models", "models", params)
        return drawn.DrawnList(self._model(body) for body in found)

    def get_model_labels(self) -> List[str]:
        """The labels of all models, the most used first."""
        return list(self._session.get("/api/v1/model/labels").json()["labels"])

    def _model(self, body: Dict[str, Any]) -> Model:
        made = Model(self._session, body["name"])
        made._hydrate(body)
        return made
