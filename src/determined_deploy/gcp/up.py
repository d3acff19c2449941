"""`det deploy gcp up`: make a cluster, or change it."""

from __future__ import annotations

import argparse
import json
import tempfile
from typing import Any, Dict, List

from determined.cli import arguments, errors
from determined_deploy.cloud.boot import placeholders
from determined_deploy.cloud.options import warn_of_images, warn_of_no_effect, warn_of_risks
from determined_deploy.cloud.secret import INITIAL_USER, changed
from determined_deploy.cloud.waiting import wait_for_master
from determined_deploy.cloud.wheel import make_uploads
from determined_deploy.gcp import names, options
from determined_deploy.gcp.account import GcpAccount
from determined_deploy.gcp.calls import Calls
from determined_deploy.gcp.options import GcpOptions
from determined_deploy.gcp.preflight import ClusterState, GcpPreflight
from determined_deploy.gcp.resources import bucket, plan, rights, secret
from determined_deploy.gcp.resources.boot import EXTRAS
from determined_deploy.gcp.resources.cluster import Cluster
from determined_deploy.gcp.resources.plan import Place
from determined_wire import google_rest

_NO_EFFECT = (
    "db_password",
    "det_version",
    "local_state_path",
    "min_cpu_platform_agent",
    "no_preflight_checks",
    "tf_state_gcs_bucket_name",
)


def up(args: argparse.Namespace) -> None:
    """Check the project, make or change each resource, upload the wheel, wait for the master."""
    config = options.read(args)
    warn_of_no_effect(args, _NO_EFFECT)
    if args.dry_run:
        print(json.dumps(requests(config, args.project_id), indent=2))
        return
    calls = Calls(GcpAccount(args))
    state = _checked(config, calls)
    if not state.is_new:
        arguments.confirm(args, f"Change the cluster {config.cluster_id}? Its master restarts.")
    warn_of_risks(config)
    warn_of_images(config, "google-cloud-storage")
    print(f"{'Creating' if state.is_new else 'Changing'} the cluster {config.cluster_id} ...")
    with tempfile.TemporaryDirectory() as directory:
        uploads = make_uploads(directory, config.wheelhouse, EXTRAS)
        cluster, store = Cluster(calls, config), bucket.Bucket(calls, config.cluster_id)
        cluster.make_network()
        address = cluster.reserve_address()
        store.make(config)
        access = rights.Rights(calls, config.cluster_id)
        access.make_accounts()
        members = _write_secret(calls, config, args.initial_user_password)
        access.grant(sends_logs=config.cloud_logging)
        grew = cluster.make_disk()
        for path, key in uploads.files():
            store.put_file(path, key)
        _say_to_host(config, calls.project)
        place = Place(calls.project, state.subnetwork, address, uploads.keys())
        cluster.make_master(place, restarts=grew)
    url = f"{config.scheme}://{address}:{config.port}"
    if not args.no_wait_for_master:
        _wait(calls, config, url)
    print(f"The master is at {url}")
    print(f"  export DET_MASTER={url}")
    # A snapshot has users with passwords of their own.
    if state.machine is None and not (args.initial_user_password or args.db_snapshot):
        print(f"Users admin and determined have the password {members[INITIAL_USER]}")


def requests(cluster: GcpOptions, project: str) -> List[Dict[str, Any]]:
    """All requests that make a new cluster, with their bodies, in order."""
    place = Place(project, plan.own_subnetwork(cluster, project), "", placeholders(cluster))
    first = [*plan.networking(cluster, project), plan.address(cluster)]
    last = [plan.disk(cluster, project), plan.master(cluster, place)]
    entries = [_insert(one, project) for one in first]
    entries.append(_post("storage", f"b?project={project}", bucket.body(cluster, project)))
    for role in rights.ROLES:
        body = rights.account_body(cluster.cluster_id, role)
        entries.append(_post("iam", f"projects/{project}/serviceAccounts", body))
    path = f"projects/{project}/secrets?secretId={names.of_cluster(cluster.cluster_id)}"
    entries.append(_post("secretmanager", path, secret.body(cluster)))
    for one in rights.grants(cluster.cluster_id, project, sends_logs=cluster.cloud_logging):
        bindings = [binding.body() for binding in one.bindings]
        entries.append(
            {"grant": google_rest.url_of(one.service, one.resource), "bindings": bindings}
        )
    shared = [{"command": line} for line in plan.commands_of_host(cluster, project)]
    return [*entries, *shared, *(_insert(one, project) for one in last)]


def _say_to_host(cluster: GcpOptions, project: str) -> None:
    """Print the commands for a project that shares its network; only its admins can run them."""
    lines = plan.commands_of_host(cluster, project)
    if lines:
        print(
            f"The network is of the project {cluster.host_project}. Its administrators run, once:"
        )
        print("\n".join(f"  {line}" for line in lines), flush=True)


def _insert(resource: plan.Resource, project: str) -> Dict[str, Any]:
    return _post("compute", f"projects/{project}/{resource.collection}", resource.body)


def _post(service: str, path: str, body: Any) -> Dict[str, Any]:
    return {"request": f"POST {google_rest.url_of(service, path)}", "body": body}


def _checked(cluster: GcpOptions, calls: Calls) -> ClusterState:
    print(f"Checking the project {calls.project} ...", flush=True)
    preflight = GcpPreflight(cluster, calls)
    state = preflight.run()
    if state is None:
        text = "\n".join(f"  - {problem}" for problem in preflight.problems)
        raise errors.CliError(f"nothing was created or changed:\n{text}")
    return state


def _write_secret(calls: Calls, cluster: GcpOptions, initial_user: Any) -> Dict[str, str]:
    stored = secret.GcpSecret(calls, cluster.cluster_id)
    members_before = (stored.read() or {}) if stored.exists() else {}
    members = changed(members_before, cluster, None, initial_user)
    stored.write(members, cluster)
    return members


def _wait(calls: Calls, cluster: GcpOptions, url: str) -> None:
    name = names.of_cluster(cluster.cluster_id, "master")
    path = f"zones/{cluster.zone}/instances/{name}/serialPort"

    def console() -> str:
        try:
            return str(calls.compute("GET", path).get("contents", ""))
        except errors.CliError:
            return ""

    see = (
        f"gcloud compute instances get-serial-port-output {name} --zone {cluster.zone} --project "
        f"{calls.project}"
    )
    wait_for_master(url, name, console, see)
