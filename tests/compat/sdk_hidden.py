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
viewer = next(r for r in b.post_ListRoles(admin, body=b.v1ListRolesRequest(limit=100)).roles
              if r.name == "Viewer")  # fmt: skip
assignment = b.v1RoleAssignment(role=viewer, scopeWorkspaceId=hidden.id)
given = b.v1UserRoleAssignment(roleAssignment=assignment, userId=me.id)
b.post_AssignRoles(
    admin,
    body=b.v1AssignRolesRequest(groupRoleAssignments=[], userRoleAssignments=[given]),
)
found["seen"] = {kind: answer(of, user, workspaceId=hidden.id) for kind, of in LISTS.items()}
b.post_KillCommand(admin, commandId=command.id)
print(json.dumps(found))
