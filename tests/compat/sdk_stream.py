"""Runs under the published package: its stream of changed projects and models.

Arguments: user, password. Prints one JSON object.
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")

from determined.common.streams import _client, wire  # noqa: E402

from determined.common.api import bindings as b  # noqa: E402  # the warnings come with the import
from determined.experimental import client  # noqa: E402

user, password = sys.argv[1:]
client.login(user=user, password=password)
session = client._determined._session
place = b.post_PostWorkspace(session, body=b.v1PostWorkspaceRequest(name="streamed")).workspace
body = b.v1PostProjectRequest(name="first", workspaceId=place.id)
b.post_PostProject(session, body=body, workspaceId=place.id)

stream = _client.Stream(_client.LomondStreamWebSocket(session))
found = {}


def until(kind, **wanted):
    """The attributes of the first message of that kind, and with these values."""
    for message in stream:
        if isinstance(message, kind) and all(getattr(message, n) == v for n, v in wanted.items()):
            return {
                n: v for n, v in vars(message).items() if isinstance(v, (int, str, list, dict))
            }


stream.subscribe(
    sync_id="1",
    projects=_client.ProjectSpec(workspace_id=place.id),
    models=_client.ModelSpec(workspace_id=place.id),
)
found["project"] = until(wire.ProjectMsg)
until(_client.Sync, complete=True)
body = b.v1PostModelRequest(name="streamed", workspaceId=place.id, labels=["a"])
model = b.post_PostModel(session, body=body).model
found["model"] = until(wire.ModelMsg)
client.get_model("streamed").set_description("changed")
found["changed"] = until(wire.ModelMsg, description="changed")
client.get_model("streamed").delete()
found["deleted"] = until(wire.ModelsDeleted)
found["model_id"] = model.id
stream.subscribe(sync_id="2", projects=_client.ProjectSpec(workspace_id=place.id))
found["again"] = until(_client.Sync, sync_id="2", complete=True)
stream.close()
b.delete_DeleteWorkspace(session, id=place.id)
print(json.dumps(found))
