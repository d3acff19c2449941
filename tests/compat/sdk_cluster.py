"""Runs under the published package: workspaces, files, logs and the cluster, as scripts use them.

Arguments: user, password. Prints one JSON object.
"""

import json
import pathlib
import sys
import tempfile
import time
import warnings

warnings.simplefilter("ignore")

from determined.common.api import bindings as b  # noqa: E402  # the warnings come with the import
from determined.common.api import errors  # noqa: E402
from determined.experimental import client  # noqa: E402

user, password = sys.argv[1:]
client.login(user=user, password=password)
session = client._determined._session
LIMIT_S = 60
WAITS = {
    "name": "waits",
    "entrypoint": "sleep 1000",
    "searcher": {"name": "single", "metric": "loss"},
    "resources": {"resource_pool": "rig"},  # without agents: its tasks wait
    "max_restarts": 0,
}
TRAIN = """
from determined import core

with core.init() as context:
    context.train.report_validation_metrics(1, {"loss": 0.5})
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
        (path / "weights").write_text("heavy")
"""
found = {}


def create(config, **more):
    body = b.v1CreateExperimentRequest(config=json.dumps(config), activate=True, **more)
    return b.post_CreateExperiment(session, body=body).experiment


def refusal(call, *args, **more):
    """Status and text of an error."""
    try:
        call(*args, **more)
    except errors.APIException as error:
        return [error.status_code, str(error)]
    return [200, ""]


def comes(ask, what):
    """Ask until the answer is true; return it."""
    deadline = time.monotonic() + LIMIT_S
    while not (answer := ask()):
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
    return answer


def workspace(name, **more):
    body = b.v1PostWorkspaceRequest(name=name, **more)
    return b.post_PostWorkspace(session, body=body).workspace


# Settings that are taken again, and one that is refused again.
group = b.v1AgentUserGroup(agentGid=1234, agentGroup="lab")
shelf = workspace("shelf", agentUserGroup=group)
found["group"] = shelf.agentUserGroup.to_json()
storage = {"type": "shared_fs", "host_path": "/tmp", "container_path": "/c",
           "checkpoint_path": "/d", "tensorboard_path": "/e"}  # fmt: skip
lenient = create({**WAITS, "resources": {"resource_pool": "rig", "agent_label": "old"},
                  "tensorboard_storage": storage})  # fmt: skip
found["lenient"] = lenient.state.value
for size in ("1 gi", "1 i"):
    resources = {"resource_pool": "rig", "shm_size": size}
    found[f"shm_{size}"] = refusal(create, {**WAITS, "resources": resources})[0]

# A workspace that is archived, and one that is deleted.
archived = workspace("attic")
project = b.post_PostProject(
    session,
    workspaceId=archived.id,
    body=b.v1PostProjectRequest(name="p", workspaceId=archived.id),
).project
stored = create(WAITS, projectId=project.id)
client.get_experiment(stored.id).kill()
client.get_experiment(stored.id).wait(interval=0.2)
client.get_experiment(stored.id).archive()
shown = b.get_GetExperiments(session, projectId=project.id, archived=False).experiments
found["archived_listed"] = [e.id for e in shown]
b.post_ArchiveWorkspace(session, id=archived.id)
launch = b.v1LaunchCommandRequest(config={"entrypoint": ["true"]}, workspaceId=archived.id)
found["in_archived"] = refusal(b.post_LaunchCommand, session, body=launch)
doomed = workspace("doomed")
notebook = b.post_LaunchNotebook(
    session,
    body=b.v1LaunchNotebookRequest(
        config={"resources": {"resource_pool": "rig"}}, workspaceId=doomed.id
    ),
).notebook
b.delete_DeleteWorkspace(session, id=doomed.id)
found["notebooks"] = notebook.id in [n.id for n in b.get_GetNotebooks(session).notebooks]
bind = b.v1BindRPToWorkspaceRequest(resourcePoolName="default", workspaceNames=["shelf"])
found["bind_default"] = refusal(
    b.post_BindRPToWorkspace, session, resourcePoolName="default", body=bind
)

# Files: a checkpoint and TensorBoard files of a trial that has run.
with tempfile.TemporaryDirectory() as model:
    pathlib.Path(model, "train.py").write_text(TRAIN)
    config = {**WAITS, "entrypoint": "python3 train.py", "resources": {"slots_per_trial": 0}}
    trained = client.create_experiment(config=config, model_dir=model)
trained.wait(interval=0.2)
checkpoint = trained.list_checkpoints()[0]
before = dict(checkpoint.resources)
checkpoint.delete()
comes(
    lambda: (
        b.get_GetCheckpoint(session, checkpointUuid=checkpoint.uuid).checkpoint.state
        == b.checkpointv1State.DELETED
    ),
    "the deletion of a checkpoint",
)
after = b.get_GetCheckpoint(session, checkpointUuid=checkpoint.uuid).checkpoint.resources
found["kept_resources"] = [bool(before), after == {k: str(v) for k, v in before.items()}]
storage = b.get_GetExperiment(session, experimentId=trained.id).config["checkpoint_storage"]
events = pathlib.Path(storage["host_path"])


def event_files():
    return len(list(events.rglob(f"tensorboard/experiment/{trained.id}/**/*tfevents*")))


found["events"] = [event_files()]
b.delete_DeleteTensorboardFiles(session, experimentId=trained.id)
found["events"].append(event_files())

# Logs.
task = b.get_GetTrial(session, trialId=lenient.trialIds[0]).trial.taskId
policies = [
    {"pattern": "CUDA", "action": {"type": "exclude_node"}},
    {"pattern": "err", "action": "cancel_retries"},
    {"pattern": "or$", "action": "cancel_retries"},
]
logged = create({
    **WAITS,
    "entrypoint": "sh -c 'echo CUDA error; exit 1'",
    "resources": {"slots_per_trial": 0},
    "max_restarts": 2,
    "log_policies": policies,
})  # fmt: skip
own = b.get_GetTrial(session, trialId=logged.trialIds[0]).trial.taskId
entry = b.v1TaskLog(taskId=task, log="a\u0000b\n", agentId="agent-0")
b.post_PostTaskLogs(session, body=b.v1PostTaskLogsRequest(logs=[entry]))


def log_of(task_id):
    return "".join(line.log for line in b.get_TaskLogs(session, taskId=task_id))


client.get_experiment(logged.id).wait(interval=0.2)
found["nul"] = "a\u0000b" in comes(lambda: log_of(task), "a line")
found["policies"] = comes(lambda: (log := log_of(own)).count("matched") >= 3 and log, log_of(own))
found["runs"] = b.get_GetTrial(session, trialId=logged.trialIds[0]).trial.restarts
client.get_experiment(lenient.id).kill()

# The cluster.
found["health"] = session.get("/health").json()
found["prometheus"] = session.get("/prom/det-state-metrics").text[:2000]
found["targets"] = session.get("/prom/det-http-sd-config").json()
found["unknown"] = refusal(b.get_GetExperiment, session, experimentId=999999)
model_body = b.v1PostModelRequest(name="twice", workspaceName="Uncategorized")
b.post_PostModel(session, body=model_body)
found["twice"] = refusal(b.post_PostModel, session, body=model_body)
print(json.dumps(found))
