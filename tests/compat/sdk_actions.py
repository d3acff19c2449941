"""Runs under the published package: bulk actions, templates, gangs, and a large model.

Arguments: user, password. Prints one JSON object.
"""

import base64
import json
import random
import sys
import warnings

warnings.simplefilter("ignore")

from determined.common.api import bindings as b  # noqa: E402  # the warnings come with the import
from determined.experimental import client  # noqa: E402

user, password = sys.argv[1:]
client.login(user=user, password=password)
session = client._determined._session
ANY_PROJECT = -1
LARGE_BYTES = 94_000_000
WAITS = {
    "name": "acts",
    "entrypoint": "sleep 1000",
    "searcher": {"name": "single", "metric": "loss"},
    "resources": {"resource_pool": "rig"},  # without agents: its tasks wait
    "max_restarts": 0,
}
GRID = {
    **WAITS,
    "hyperparameters": {"x": {"type": "categorical", "vals": [1, 2]}},
    "searcher": {"name": "grid", "metric": "loss"},
}
HERE = {"resources": {"slots_per_trial": 0}}
found = {}


def create(config, **more):
    more.setdefault("activate", True)
    body = b.v1CreateExperimentRequest(config=json.dumps(config), **more)
    return b.post_CreateExperiment(session, body=body).experiment


def shown(number):
    return b.get_GetExperiment(session, experimentId=number).experiment


def ended(number):
    return client.get_experiment(number).wait(interval=0.2).value


def errors(answer):
    return [result.error for result in answer.results]


# An ended search that continues is answered with its trials.
search = create(GRID)
client.get_experiment(search.id).kill()
ended(search.id)
body = b.v1ContinueExperimentRequest(id=search.id)
found["continued"] = len(b.post_ContinueExperiment(session, body=body).experiment.trialIds)
client.get_experiment(search.id).kill()

# Bulk actions on any project, by ids and by filter.
workspace = b.post_PostWorkspace(session, body=b.v1PostWorkspaceRequest(name="acts")).workspace
body = b.v1PostProjectRequest(name="target", workspaceId=workspace.id)
target = b.post_PostProject(session, workspaceId=workspace.id, body=body).project


def bulk(name, chosen, **more):
    body = getattr(b, f"v1{name}ExperimentsRequest")(projectId=ANY_PROJECT, **chosen, **more)
    call = getattr(b, f"post_{name}Experiments")
    return errors(call(session, body=body, projectId=ANY_PROJECT))


def lives(by):
    """The errors of each action, and what the experiments are afterwards."""
    name = f"acts by {by}"
    ids = [create({**WAITS, "name": name}).id for _ in range(2)]
    chosen = {"experimentIds": ids}
    if by == "filter":
        chosen = {"experimentIds": [], "filters": b.v1BulkExperimentFilters(name=name)}
    told = []
    for verb in ("Pause", "Activate", "Cancel", "Archive", "Unarchive"):
        said = bulk(verb, chosen)
        if verb == "Cancel":
            states = [ended(i) for i in ids]
        else:
            states = [shown(i).state.value for i in ids]
        told.append([verb, said, states, [shown(i).archived for i in ids]])
    said = bulk("Move", chosen, destinationProjectId=target.id)
    told.append(["Move", said, [shown(i).projectId == target.id for i in ids]])
    ids[:] = [create({**WAITS, "name": name}).id]
    said = bulk("Kill", {**chosen, "experimentIds": ids if by == "ids" else []})
    told.append(["Kill", said[-1:], [ended(i) for i in ids]])
    return told


found["bulk"] = {by: lives(by) for by in ("ids", "filter")}

# Runs of a search are not resumed; the run of a single experiment is.
search, single = create(GRID), create(WAITS)
runs = [*search.trialIds, *single.trialIds]
found["resumed"] = []
for verb in ("Pause", "Resume"):
    body = getattr(b, f"v1{verb}RunsRequest")(projectId=ANY_PROJECT, runIds=runs)
    found["resumed"].append(errors(getattr(b, f"post_{verb}Runs")(session, body=body)))
found["refusals"] = [
    f"Cannot pause/unpause run '{i}' (part of multi-trial)." for i in search.trialIds
]
for number in (search.id, single.id):
    client.get_experiment(number).kill()

# Failures without the last one, also with a policy that matches nothing.
policies = [{"pattern": "never printed", "action": "cancel_retries"}]
failing = create({**WAITS, **HERE, "entrypoint": "false", "max_restarts": 1,
                  "log_policies": policies})  # fmt: skip
ended(failing.id)
found["restarts"] = b.get_GetTrial(session, trialId=failing.trialIds[0]).trial.restarts

# A gang of two agents: one rank fails, and the other is killed for it.
fails = 'case "$DET_AGENT_ID" in *-0) exit 3;; *) sleep 1000;; esac'
gang = create({**WAITS, "entrypoint": fails, "resources": {"slots_per_trial": 2}})
found["gang"] = ended(gang.id)

# Tasks of every kind by a template; a TensorBoard takes over what pulls its image.
config = {
    "resources": {"slots": 0, "agent_label": "old", "resource_pool": "rig"},
    "entrypoint": ["echo", "by template"],
    "description": "any kind",
}
template = b.v1Template(name="kinds", config=config, workspaceId=workspace.id)
b.post_PostTemplate(session, body=template, template_name="kinds")
secrets = [{"name": "registry-key"}]
pulled = {**WAITS, "environment": {"pod_spec": {"spec": {"imagePullSecrets": secrets}}}}
source = create(pulled)
of = {"config": {}, "templateName": "kinds", "workspaceId": workspace.id}
board = b.v1LaunchTensorboardRequest(experimentIds=[source.id], **of)
started = {
    "shell": b.post_LaunchShell(session, body=b.v1LaunchShellRequest(**of)),
    "notebook": b.post_LaunchNotebook(session, body=b.v1LaunchNotebookRequest(**of)),
    "tensorboard": b.post_LaunchTensorboard(session, body=board),
}
found["slots"] = {kind: made.config["resources"]["slots"] for kind, made in started.items()}
found["described"] = [started[kind].config["description"] for kind in ("shell", "notebook")]
pod_spec = started["tensorboard"].config["environment"]["pod_spec"]
found["secrets"] = pod_spec["spec"]["imagePullSecrets"] == secrets
b.post_KillShell(session, shellId=started["shell"].shell.id)
b.post_KillNotebook(session, notebookId=started["notebook"].notebook.id)
b.post_KillTensorboard(session, tensorboardId=started["tensorboard"].tensorboard.id)
client.get_experiment(source.id).kill()

# A model directory of 94 MB, whose request has 126 MB.
content = base64.b64encode(random.Random(1).randbytes(LARGE_BYTES)).decode()
file = b.v1File(path="weights", type=ord("0"), content=content, mtime="0", mode=420, uid=0, gid=0)
large = create(WAITS, modelDefinition=[file], activate=False)
found["large"] = large.modelDefinitionSize > LARGE_BYTES
client.get_experiment(large.id).kill()

# The projects that a user has opened.
body = b.v1PostUserActivityRequest(
    activityType=b.v1ActivityType.GET, entityType=b.v1EntityType.PROJECT, entityId=target.id
)
b.post_PostUserActivity(session, body=body)
found["opened"] = b.get_GetProjectsByUserActivity(session).projects[0].name
print(json.dumps(found))
