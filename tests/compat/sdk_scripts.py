"""Runs under the published package: requests as users' scripts send them.

Arguments: user, password. Prints one JSON object.
"""

import hashlib
import hmac
import http.server
import json
import queue
import sys
import threading
import warnings

warnings.simplefilter("ignore")

from determined.common.api import bindings as b  # noqa: E402  # the warnings come with the import
from determined.experimental import client  # noqa: E402

user, password = sys.argv[1:]
client.login(user=user, password=password)
session = client._determined._session
ANY_PROJECT = -1
RANDOM = {
    "name": "scripted",
    "entrypoint": "sleep 1000",
    "hyperparameters": {"x": {"type": "categorical", "vals": [1, 2]}},
    "searcher": {"name": "grid", "metric": "loss"},
    "resources": {"resource_pool": "rig"},  # without agents: its tasks wait
    "max_restarts": 0,
}
found = {}


def create(config, **more):
    body = b.v1CreateExperimentRequest(config=json.dumps(config), activate=True, **more)
    return b.post_CreateExperiment(session, body=body).experiment


def state(experiment):
    return b.get_GetExperiment(session, experimentId=experiment.id).experiment.state.value


def errors(answer):
    return [result.error for result in answer.results]


first = create(RANDOM)
second = create(RANDOM, parentId=first.id)
found["trials"] = [len(first.trialIds), len(second.trialIds)]

tree = {"kind": "field", "columnName": "x", "operator": "=", "value": 2}
tree.update(location="LOCATION_TYPE_RUN_HYPERPARAMETERS", type="COLUMN_TYPE_NUMBER")
chosen = {"filterGroup": {"kind": "group", "conjunction": "and", "children": [tree]}}
body = b.v1SearchRunsRequest(projectId=1, filter=json.dumps(chosen), sort="id=asc")
runs = [run for run in b.post_SearchRuns(session, body=body).runs if run.experiment.id == first.id]
found["runs"] = [(run.hyperparameters, run.state.value) for run in runs]
own = first.trialIds
body = b.v1PauseRunsRequest(projectId=1, runIds=own)
found["paused_runs"] = errors(b.post_PauseRuns(session, body=body))
found["refusals"] = [f"Cannot pause/unpause run '{i}' (part of multi-trial)." for i in own]
body = b.v1PauseRunsRequest(projectId=1, runIds=[], filter=json.dumps(chosen))
found["paused_by_filter"] = sorted(
    {text.partition("'")[0] for text in errors(b.post_PauseRuns(session, body=body))}
)

body = b.v1PauseExperimentsRequest(experimentIds=[first.id], projectId=ANY_PROJECT)
found["paused"] = errors(b.post_PauseExperiments(session, body=body, projectId=ANY_PROJECT))
found["states"] = [state(first), state(second)]
body = b.v1KillExperimentsRequest(
    experimentIds=[], projectId=ANY_PROJECT, filters=b.v1BulkExperimentFilters(name="scripted")
)
found["killed"] = errors(b.post_KillExperiments(session, body=body, projectId=ANY_PROJECT))
found["ended"] = [client.get_experiment(e.id).wait(interval=0.2).value for e in (first, second)]
body = b.v1ArchiveExperimentsRequest(experimentIds=[second.id], projectId=ANY_PROJECT)
found["archived"] = errors(b.post_ArchiveExperiments(session, body=body, projectId=ANY_PROJECT))

template = {
    "resources": {"slots": 0, "agent_label": "old"},
    "entrypoint": ["echo", "by template"],
    "description": "any task",
}
b.post_PostTemplate(
    session, body=b.v1Template(name="any", config=template, workspaceId=1), template_name="any"
)
body = b.v1LaunchCommandRequest(config={}, templateName="any", workspaceId=1)
command = b.post_LaunchCommand(session, body=body)
found["command"] = command.config["entrypoint"]
templated = create(
    {**RANDOM, "resources": {"slots_per_trial": 0}, "entrypoint": None}, template="any"
)
found["from_template"] = b.get_GetExperiment(session, experimentId=templated.id).config[
    "entrypoint"
]
client.get_experiment(templated.id).kill()
empty = b.post_LaunchCommand(session, body=b.v1LaunchCommandRequest(workspaceId=1)).command
found["empty"] = empty.id

failing = create(
    {
        **RANDOM,
        "name": "fails",
        "entrypoint": "false",
        "max_restarts": 2,
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {},
        "resources": {"slots_per_trial": 0},
    }
)
client.get_experiment(failing.id).wait(interval=0.2)
found["restarts"] = b.get_GetTrial(session, trialId=failing.trialIds[0]).trial.restarts


class Hook(http.server.BaseHTTPRequestHandler):
    """Keeps what is delivered."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        at = self.headers["X-Determined-AI-Signature-Timestamp"]
        signed = hmac.new(b"secret", at.encode() + b"," + body, hashlib.sha256).hexdigest()
        delivered.put((json.loads(body), signed == self.headers["X-Determined-AI-Signature"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        """Nothing is printed."""


delivered = queue.Queue()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
threading.Thread(target=server.serve_forever, daemon=True).start()


def trigger(kind, **condition):
    return b.v1Trigger(triggerType=kind, condition=condition)


def webhook(name, *triggers, mode=b.v1WebhookMode.WORKSPACE):
    body = b.v1Webhook(
        name=name,
        url=f"http://127.0.0.1:{server.server_address[1]}/",
        webhookType=b.v1WebhookType.DEFAULT,
        mode=mode,
        triggers=triggers,
        workspaceId=1,
    )
    return b.post_PostWebhook(session, body=body).webhook.id


kinds = b.v1TriggerType
ended = trigger(kinds.EXPERIMENT_STATE_CHANGE, state="CANCELED")
line = trigger(kinds.TASK_LOG, regex="told .*")
alert = trigger(kinds.CUSTOM)
hooks = [
    webhook("ended", ended),
    webhook("line", line),
    webhook("alert", alert, mode=b.v1WebhookMode.SPECIFIC),
]
b.post_TestWebhook(session, id=hooks[0])
found["hook_test"] = delivered.get(timeout=30)
hooked = create(
    {**RANDOM, "name": "hooked", "integrations": {"webhooks": {"webhook_name": ["alert"]}}}
)
task = b.get_GetTrial(session, trialId=hooked.trialIds[0]).trial.taskId
entry = b.v1TaskLog(taskId=task, log="told you\n", agentId="agent-0")
b.post_PostTaskLogs(session, body=b.v1PostTaskLogsRequest(logs=[entry]))
found["hook_line"] = delivered.get(timeout=30)
data = b.v1CustomWebhookEventData(title="t", description="d", level=b.v1LogLevel.INFO)
body = b.v1PostWebhookEventDataRequest(
    data=data, experimentId=hooked.id, trialId=hooked.trialIds[0]
)
b.post_PostWebhookEventData(session, body=body)
found["hook_alert"] = delivered.get(timeout=30)
client.get_experiment(hooked.id).kill()
found["hook_state"] = delivered.get(timeout=30)
hooks += [webhook("", ended), webhook("", ended)]
found["hooks_without_names"] = [w.name for w in b.get_GetWebhooks(session).webhooks[-2:]]
b.patch_PatchWebhook(session, id=hooks[0], body=b.v1PatchWebhook(url="http://example.org/"))
found["hooks"] = [(w.name, w.url) for w in b.get_GetWebhooks(session).webhooks[:1]]
for hook in hooks:
    b.delete_DeleteWebhook(session, id=hook)
found["hooks_left"] = len(b.get_GetWebhooks(session).webhooks)
server.shutdown()
print(json.dumps(found))
