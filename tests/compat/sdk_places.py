"""Runs under the published package: workspaces and projects by its SDK.

Arguments: user, password, id of an experiment that does not run. Prints one JSON object.
"""

import json
import sys
import time
import warnings

warnings.simplefilter("ignore")

from determined.experimental import client  # noqa: E402  # the warnings come with the import

user, password, experiment_id = sys.argv[1:]
client.login(user=user, password=password)
workspace = client.create_workspace("sdk")
project = workspace.create_project("first", "of the sdk")
project.set_name("renamed")
project.set_description("told again")
project.set_key("sdk")
project.add_note("one", "contents")
project.add_note("two", "contents")
project.remove_note("one")
archived = []
for change in (project.archive, project.unarchive):
    change()
    project.reload()
    archived.append(project.archived)
experiment = client.get_experiment(int(experiment_id))
experiment.move_to_project("sdk", "renamed")
experiment.reload()
project.reload()
found = {
    "workspace": workspace.name,
    "projects": [p.name for p in workspace.list_projects()],
    "description": project.description,
    "key": project.key,
    "notes": [note["name"] for note in project.notes],
    "archived": archived,
    "moved": experiment.project_id == project.id,
    "experiments": [e.id for e in project.list_experiments()],
    "pools": [pool.name for pool in workspace.list_pools()],
}
experiment.kill()
experiment.wait(interval=0.2)
workspace.delete_project("renamed")
deadline = time.monotonic() + 30
while workspace.list_projects() and time.monotonic() < deadline:
    time.sleep(0.1)
client.delete_workspace("sdk")
found["left"] = "sdk" in [w.name for w in client.list_workspaces()]
print(json.dumps(found))
