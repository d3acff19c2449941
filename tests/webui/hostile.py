"""Names, notes, logs and metrics that hold markup, in everything that a user may name."""

from __future__ import annotations

from urllib.parse import quote

from tests.e2e.cluster import Cluster, until
from tests.webui.addresses import Things, board_of

MARK = "<img src=x data-canary onerror=canary=1>"
"""If a page took it as markup, it would make an element, and the element would set `canary`."""
NOTE = f"""# {MARK}

<script data-canary>canary = 1</script>

[plain link](javascript:canary=1) [spaced]( java\tscript:canary=1 ) [data](data:text/html,x)
[reference][r] ![picture](x"onerror="canary=1) <a href="javascript:canary=1">raw</a>

<details ontoggle=canary=1 open data-canary>x</details> {MARK}

[r]: JaVaScRiPt:canary=1 "title"
"""
SCRIPT = f'''
import logging, pathlib, sys
from determined import core
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
with core.init() as context:
    for step in range(1, 11):
        context.train.report_training_metrics(step, {{"""{MARK}""": 1 / step}})
        print("""{MARK} \\x1b[31m{MARK}\\x1b[0m""", flush=True)
    context.train.report_validation_metrics(10, {{"loss": 1.0, """{MARK}""": 0.5}})
    metadata = {{"steps_completed": 10, """{MARK}""": """{MARK}"""}}
    with context.checkpoint.store_path(metadata) as (path, _):
        (pathlib.Path(path) / """{MARK}""").write_text("""{MARK}""")
'''


def plant(cluster: Cluster) -> Things:
    """Make one of everything; the ids for the addresses that show it."""
    workspace = cluster.post("/api/v1/workspaces", {"name": MARK})["workspace"]["id"]
    body = {"name": MARK, "description": MARK, "workspaceId": workspace}
    project = cluster.post(f"/api/v1/workspaces/{workspace}/projects", body)["project"]["id"]
    notes = {"notes": [{"name": MARK, "contents": NOTE}], "projectId": project}
    cluster.session().put(f"/api/v1/projects/{project}/notes", json=notes)
    config = {
        "name": MARK,
        "description": MARK,
        "labels": [MARK],
        "workspace": MARK,
        "project": MARK,
        "entrypoint": "python3 t.py",
        "hyperparameters": {"lr": 0.1, MARK: MARK},
        "searcher": {"name": "single", "metric": MARK, "max_length": 10},
        "resources": {"slots_per_trial": 0},
        "max_restarts": 0,
    }
    run = cluster.submit(config, {"t.py": SCRIPT, f"{MARK}.py": f"# {MARK}"})
    assert cluster.wait(run) == "COMPLETED"
    patched = {"id": run, "notes": NOTE}
    cluster.session().patch(f"/api/v1/experiments/{run}", json=patched)
    [trial] = cluster.trials(run)
    return Things(
        project=project,
        empty_project=project,
        workspace=workspace,
        search=run,
        run=run,
        running=run,
        failed=run,
        waiting=run,
        trial=trial["id"],
        trials=(trial["id"],),
        agent=cluster.connected()[0],
        pool="default",
        board=board_of(cluster, project, f"{NOTE}\n```panel chart\ntitle: {MARK}\n```\n", MARK),
        model=quote(_model(cluster, workspace, run), safe=""),
        ended_task=_command(cluster, workspace),
        generic_task="unknown",
        waiting_task=_command(cluster, workspace),
    )


def _model(cluster: Cluster, workspace: int, experiment: int) -> str:
    body = {
        "name": MARK,
        "description": MARK,
        "labels": [MARK],
        "notes": NOTE,
        "workspaceId": workspace,
    }
    cluster.post("/api/v1/models", {**body, "metadata": {MARK: MARK}})
    found = cluster.get(f"/api/v1/experiments/{experiment}/checkpoints")["checkpoints"]
    for name in (MARK, "second"):
        version = {"name": name, "comment": MARK, "labels": [MARK], "notes": NOTE}
        version |= {"checkpointUuid": found[0]["uuid"], "metadata": {MARK: MARK}}
        cluster.post(f"/api/v1/models/{quote(MARK, safe='')}/versions", version)
    return MARK


def _command(cluster: Cluster, workspace: int) -> str:
    config = {
        "description": MARK,
        "entrypoint": ["printf", "%s\\n", MARK],
        "resources": {"slots": 0},
    }
    made = cluster.post("/api/v1/commands", {"config": config, "workspaceId": workspace})
    task_id = str(made["command"]["id"])
    until(
        lambda: "TERMINATED" in cluster.get(f"/api/v1/commands/{task_id}")["command"]["state"],
        what="the end of a command",
    )
    return task_id


def plant_among_people(cluster: Cluster) -> None:
    """What only administrators name, and what all see above each page."""
    ids = {each["username"]: each["id"] for each in cluster.get("/api/v1/users")["users"]}
    cluster.session().patch(f"/api/v1/users/{ids['linus']}", json={"displayName": MARK})
    cluster.post("/api/v1/groups", {"name": MARK})
    template = {"name": MARK, "config": {"description": MARK}, "workspaceId": 1}
    cluster.post(f"/api/v1/templates/{quote(MARK, safe='')}", template)
    hook = {"name": MARK, "url": "http://127.0.0.1:9/", "webhookType": "WEBHOOK_TYPE_DEFAULT"}
    hook["mode"] = "WEBHOOK_MODE_WORKSPACE"
    states = {
        "triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
        "condition": {"state": "ERROR"},
    }
    cluster.post("/api/v1/webhooks", {**hook, "triggers": [states]})
    message = {"message": MARK, "startTime": "2020-01-01T00:00:00Z"}
    cluster.session().put("/api/v1/master/cluster_message", json=message)
