"""Runs under the published package: requests as users' scripts send them.

Arguments: user, password. Prints one JSON object.
"""

import json
import sys
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
print(json.dumps(found))
