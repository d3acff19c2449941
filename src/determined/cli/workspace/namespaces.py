"""`det workspace bindings` and `resource-quota`: the Kubernetes namespaces of workspaces."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined.cli import connect, errors
from determined.cli.declare import Command, arg, flag
from determined.cli.output import show
from determined.cli.workspace import lookup

_HERE = "determined.cli.workspace.namespaces"
_NAME = arg("workspace_name", help="name of the workspace")
_JSON = flag("--json", help="print as JSON")
_CLUSTER = arg("--cluster-name", help="the Kubernetes cluster that the namespace is in")
_CREATED = (
    flag("--auto-create-namespace", help="create a namespace and bind the workspace to it"),
    flag("--auto-create-namespace-all-clusters", help="the same in every Kubernetes cluster"),
)
OF_NEW_WORKSPACES = (
    _CLUSTER,
    arg("-n", "--namespace", help="the Kubernetes namespace to bind the workspace to"),
    *_CREATED,
    arg("--resource-quota", type=int, help="GPUs that the workspace's namespace may request"),
)

BINDINGS = Command(
    "bindings",
    "manage the Kubernetes namespaces that tasks of workspaces run in",
    commands=(
        Command(
            "delete",
            "run new tasks in the default namespace again",
            f"{_HERE}:delete",
            (_NAME, _CLUSTER),
        ),
        Command("list|ls", "list the namespaces", f"{_HERE}:list_bindings", (_NAME, _JSON)),
        Command(
            "set",
            "bind a workspace to a namespace",
            f"{_HERE}:bind",
            (
                _NAME,
                _CLUSTER,
                arg("--namespace", help="the Kubernetes namespace to bind the workspace to"),
                *_CREATED,
            ),
        ),
    ),
)
QUOTAS = Command(
    "resource-quota",
    "manage the GPU quotas of workspaces in Kubernetes",
    commands=(
        Command(
            "set",
            "set the quota of a workspace's own namespace",
            f"{_HERE}:set_quota",
            (
                _NAME,
                arg("resource_quota", type=int, help="GPUs that its tasks may request"),
                _CLUSTER,
            ),
        ),
    ),
)


def bind(args: argparse.Namespace) -> None:
    """Bind a workspace to an existing or new namespace.

    Raises:
        CliError: no option selects a namespace.
    """
    body = _namespace_settings(args)
    if not body:
        raise errors.CliError(
            "no namespace given: give --namespace, --auto-create-namespace or "
            "--auto-create-namespace-all-clusters"
        )
    session = connect.session(args)
    number = lookup.workspace(session, args.workspace_name)["id"]
    path = f"/api/v1/workspaces/{number}/namespace-bindings"
    _table(session.post(path, json=body).json()["namespaceBindings"])


def list_bindings(args: argparse.Namespace) -> None:
    """Print the namespace of a workspace in each Kubernetes cluster."""
    session = connect.session(args)
    number = lookup.workspace(session, args.workspace_name)["id"]
    answer = session.get(f"/api/v1/workspaces/{number}/list-namespace-bindings").json()
    if args.json:
        show.as_json(answer["namespaceBindings"])
        return
    _table(answer["namespaceBindings"])


def delete(args: argparse.Namespace) -> None:
    session = connect.session(args)
    number = lookup.workspace(session, args.workspace_name)["id"]
    params = {"clusterNames": [args.cluster_name or ""]}
    session.delete(f"/api/v1/workspaces/{number}/namespace-bindings", params=params)
    print(f"Deleted the namespace binding of workspace '{args.workspace_name}'")


def set_quota(args: argparse.Namespace) -> None:
    """Limit the GPUs that a workspace's own namespace may request."""
    session = connect.session(args)
    number = lookup.workspace(session, args.workspace_name)["id"]
    body = {"clusterQuotaPairs": {args.cluster_name or "": args.resource_quota}}
    session.post(f"/api/v1/workspaces/{number}/set-resource-quota", json=body)
    print(f"Set the quota of workspace '{args.workspace_name}' to {args.resource_quota} GPUs")


def of_new_workspace(args: argparse.Namespace) -> Dict[str, Any]:
    """The namespace settings of a new workspace; a master without Kubernetes refuses them."""
    body = _namespace_settings(args)
    if args.resource_quota is not None:
        body["clusterQuotaPairs"] = {args.cluster_name or "": args.resource_quota}
    return body


def _namespace_settings(args: argparse.Namespace) -> Dict[str, Any]:
    cluster = args.cluster_name or ""
    if not (
        args.namespace or args.auto_create_namespace or args.auto_create_namespace_all_clusters
    ):
        return {}
    meta = {
        "autoCreateNamespace": args.auto_create_namespace,
        "autoCreateNamespaceAllClusters": args.auto_create_namespace_all_clusters,
        "clusterName": cluster,
    }
    if args.namespace:
        meta["namespace"] = args.namespace
    return {"clusterNamespaceMeta": {cluster: meta}}


def _table(bindings: Dict[str, Dict[str, Any]]) -> None:
    rows: List[List[Any]] = [
        [name, binding["namespace"], binding.get("autoCreateNamespace", False)]
        for name, binding in sorted(bindings.items())
    ]
    show.table(["Cluster", "Namespace", "Made For It"], rows)
