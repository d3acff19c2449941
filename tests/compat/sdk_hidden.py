"""Runs under the published package: what a user without a role is answered about a workspace.

Arguments: user, password, password of the admin. Prints one JSON object.
"""

import json
import os
import sys
import warnings

warnings.simplefilter("ignore")

from determined.common.api import authentication, errors  # noqa: E402
from determined.common.api import bindings as b  # noqa: E402

name, password, admin_password = sys.argv[1:]
MASTER = os.environ["DET_MASTER"]
admin = authentication.login(MASTER, "admin", admin_password)
user = authentication.login(MASTER, name, password)
LISTS = {
    "commands": b.get_GetCommands,
    "notebooks": b.get_GetNotebooks,
    "shells": b.get_GetShells,
    "tensorboards": b.get_GetTensorboards,
}
found = {}


def answer(call, *args, **more):
    """Status and text of an error; the number of listed tasks otherwise."""
    try:
        listed = call(*args, **more).to_json()
    except errors.APIException as error:
        return [error.status_code, str(error)]
    except errors.ForbiddenException as error:
        return [403, str(error)]
    return [200, len(next(v for k, v in listed.items() if k != "pagination"))]


hidden = b.post_PostWorkspace(admin, body=b.v1PostWorkspaceRequest(name="hush")).workspace
command = b.post_LaunchCommand(
    admin,
    body=b.v1LaunchCommandRequest(
        config={"entrypoint": ["true"], "resources": {"resource_pool": "rig"}},
        workspaceId=hidden.id,
    ),
).command
found["id"] = hidden.id
found["hidden"] = {kind: answer(of, user, workspaceId=hidden.id) for kind, of in LISTS.items()}
found["missing"] = {kind: answer(of, user, workspaceId=999999) for kind, of in LISTS.items()}
found["any"] = answer(b.get_GetCommands, user)
me = b.get_GetMe(user).user


def give(role_name, workspace):
    """Give the user a role in a workspace."""
    listed = b.post_ListRoles(admin, body=b.v1ListRolesRequest(limit=100)).roles
    role = next(r for r in listed if r.name == role_name)
    assignment = b.v1RoleAssignment(role=role, scopeWorkspaceId=workspace.id)
    given = b.v1UserRoleAssignment(roleAssignment=assignment, userId=me.id)
    b.post_AssignRoles(
        admin,
        body=b.v1AssignRolesRequest(groupRoleAssignments=[], userRoleAssignments=[given]),
    )


give("Viewer", hidden)
found["seen"] = {kind: answer(of, user, workspaceId=hidden.id) for kind, of in LISTS.items()}
b.post_KillCommand(admin, commandId=command.id)

# A viewer starts and stores nothing there, and reads the policies of the cluster.
launch = b.v1LaunchCommandRequest(config={"entrypoint": ["true"]}, workspaceId=hidden.id)
found["launch"] = answer(b.post_LaunchCommand, user, body=launch)
config = {"entrypoint": "x", "searcher": {"name": "single", "metric": "loss"}}
body = b.v1CreateExperimentRequest(config=json.dumps(config), validateOnly=True)
found["create"] = answer(b.post_CreateExperiment, user, body=body)
template = b.v1Template(name="theirs", config={"description": "d"}, workspaceId=hidden.id)
found["template"] = answer(b.post_PostTemplate, user, template_name="theirs", body=template)

# Nobody renames the first workspace: the text comes before the rights.
first = b.get_GetWorkspace(admin, id=1).workspace
renamed = b.v1PatchWorkspace(name="renamed")
give("Viewer", first)
found["first"] = answer(b.patch_PatchWorkspace, user, id=1, body=renamed)
found["other"] = answer(b.patch_PatchWorkspace, user, id=hidden.id, body=renamed)

# An editor starts tasks by the templates of workspaces that their roles show.
own = b.post_PostWorkspace(admin, body=b.v1PostWorkspaceRequest(name="own")).workspace
unseen = b.post_PostWorkspace(admin, body=b.v1PostWorkspaceRequest(name="unseen")).workspace
give("Editor", own)
for name, place in (("theirs", hidden), ("secret", unseen)):
    template = b.v1Template(name=name, config={"description": name}, workspaceId=place.id)
    b.post_PostTemplate(admin, template_name=name, body=template)
    launch = b.v1LaunchNotebookRequest(
        config={"resources": {"resource_pool": "rig"}}, templateName=name, workspaceId=own.id
    )
    found[f"by_{name}"] = answer(b.post_LaunchNotebook, user, body=launch)
roles = {role.name: role for role in b.get_GetPermissionsSummary(user).roles}
found["policies"] = b.v1PermissionType.VIEW_GLOBAL_CONFIG_POLICIES in [
    permission.id for permission in roles["Viewer"].permissions
]
group = b.v1CreateGroupRequest(name="twice")
b.post_CreateGroup(admin, body=group)
found["group"] = answer(b.post_CreateGroup, admin, body=group)
found["health"] = admin.get("/health").json()["resource_managers"]
for notebook in b.get_GetNotebooks(admin).notebooks:
    b.post_KillNotebook(admin, notebookId=notebook.id)
print(json.dumps(found))
