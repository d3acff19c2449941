"""Runs under the published package, as code in a task does: with its user's token.

Arguments: token. Prints one JSON object.
"""

import json
import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")

os.environ.update(DET_USER="admin", DET_USER_TOKEN=sys.argv[1])
# Without a login of other scripts, which the client would prefer.
os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(dir=os.getcwd())

from determined.common.api import bindings as b  # noqa: E402  # the token is set before the import
from determined.common.api.errors import ForbiddenException  # noqa: E402
from determined.experimental import client  # noqa: E402

CONFIG = {
    "name": "from a task",
    "entrypoint": "true",
    "searcher": {"name": "single", "metric": "loss"},
    "resources": {"slots_per_trial": 0},
}
found = {}
experiment = client.create_experiment(CONFIG, None)
found["state"] = experiment.wait(interval=0.2).value
found["trials"] = len(list(experiment.iter_trials()))
experiment.set_name("renamed")
experiment.archive()
found["name"] = client.get_experiment(experiment.id).name
model = client.create_model("model of a task")
found["models"] = [m.name for m in client.list_models(name="model of a task")]
model.delete()
workspace = client.create_workspace("workspace of a task")
project = workspace.create_project("p")
found["projects"] = [p.name for p in workspace.list_projects()]
workspace.delete_project("p")
client.delete_workspace("workspace of a task")
found["users"] = [user.username for user in client.list_users()]
session = client._determined._session
found["refused"] = []
webhook = b.v1Webhook(
    url="http://127.0.0.1:1",
    webhookType=b.v1WebhookType.DEFAULT,
    mode=b.v1WebhookMode.WORKSPACE,
    name="outlives",
)
for attempt in (
    lambda: client.create_user("outlives", admin=True, password="Outlives-1"),
    lambda: b.post_PostWebhook(session, body=webhook),
    lambda: b.get_GetMasterConfig(session),
):
    try:
        attempt()
    except ForbiddenException as error:
        found["refused"].append(str(error))
print(json.dumps(found))
