"""`det deploy gcp up`: make a cluster, or change it."""

from __future__ import annotations

import argparse
import json
import tempfile
from typing import Any, Dict, List

from determined.cli import arguments, errors
from determined.cli.deploy.cloud.options import warn_of_images, warn_of_no_effect, warn_of_risks
from determined.cli.deploy.cloud.secret import INITIAL_USER, changed
from determined.cli.deploy.cloud.waiting import wait_for_master
from determined.cli.deploy.cloud.wheel import build_wheel, key_of
from determined.cli.deploy.gcp import bucket, names, options, plan, rights, secret
from determined.cli.deploy.gcp.account import GcpAccount
from determined.cli.deploy.gcp.calls import Calls, url_of
from determined.cli.deploy.gcp.cluster import Cluster
from determined.cli.deploy.gcp.options import GcpOptions
from determined.cli.deploy.gcp.plan import Place
from determined.cli.deploy.gcp.preflight import Found, GcpPreflight

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
    wanted = options.read(args)
    warn_of_no_effect(args, _NO_EFFECT)
    if args.dry_run:
        print(json.dumps(requests(wanted, args.project_id), indent=2))
        return
    calls = Calls(GcpAccount(args))
    found = _checked(wanted, calls)
    if not found.is_new:
        arguments.confirm(args, f"Change the cluster {wanted.cluster_id}? Its master restarts.")
    warn_of_risks(wanted)
    warn_of_images(wanted, "google-cloud-storage")
    print(f"{'Creating' if found.is_new else 'Changing'} the cluster {wanted.cluster_id} ...")
    with tempfile.TemporaryDirectory() as directory:
        wheel = build_wheel(directory)
        key = key_of(wheel)
        cluster, store = Cluster(calls, wanted), bucket.Bucket(calls, wanted.cluster_id)
        cluster.make_network()
        address = cluster.reserve_address()
        store.make(wanted)
        access = rights.Rights(calls, wanted.cluster_id)
        access.make_accounts()
        members = _write_secret(calls, wanted, args.initial_user_password)
        access.grant(sends_logs=wanted.cloud_logging)
        grew = cluster.make_disk()
        store.put_wheel(wheel, key)
        _say_to_host(wanted, calls.project)
        place = Place(calls.project, found.subnetwork, address, key)
        cluster.make_master(place, restarts=grew)
    url = f"{wanted.scheme}://{address}:{wanted.port}"
    if not args.no_wait_for_master:
        _wait(calls, wanted, url)
    print(f"The master is at {url}")
    print(f"  export DET_MASTER={url}")
    # A snapshot has users with passwords of their own.
    if found.machine is None and not (args.initial_user_password or args.db_snapshot):
        print(f"Users admin and determined have the password {members[INITIAL_USER]}")


def requests(wanted: GcpOptions, project: str) -> List[Dict[str, Any]]:
    """All requests that make a new cluster, with their bodies, in order."""
    place = Place(project, plan.own_subnetwork(wanted, project), "", "KEY/determined.whl")
    first = [*plan.networking(wanted, project), plan.address(wanted)]
    last = [plan.disk(wanted, project), plan.master(wanted, place)]
    found = [_insert(one, project) for one in first]
    found.append(_post("storage", f"b?project={project}", bucket.body(wanted, project)))
    for role in rights.ROLES:
        body = rights.account_body(wanted.cluster_id, role)
        found.append(_post("iam", f"projects/{project}/serviceAccounts", body))
    path = f"projects/{project}/secrets?secretId={names.of_cluster(wanted.cluster_id)}"
    found.append(_post("secretmanager", path, secret.body(wanted)))
    for one in rights.grants(wanted.cluster_id, project, sends_logs=wanted.cloud_logging):
        bindings = [binding.body() for binding in one.bindings]
        found.append({"grant": url_of(one.service, one.resource), "bindings": bindings})
    shared = [{"command": line} for line in plan.commands_of_host(wanted, project)]
    return [*found, *shared, *(_insert(one, project) for one in last)]


def _say_to_host(wanted: GcpOptions, project: str) -> None:
    """Print the commands for a project that shares its network; only its admins can run them."""
    lines = plan.commands_of_host(wanted, project)
    if lines:
        print(
            f"The network is of the project {wanted.host_project}. Its administrators run, once:"
        )
        print("\n".join(f"  {line}" for line in lines), flush=True)


def _insert(resource: plan.Resource, project: str) -> Dict[str, Any]:
    return _post("compute", f"projects/{project}/{resource.collection}", resource.body)


def _post(service: str, path: str, body: Any) -> Dict[str, Any]:
    return {"request": f"POST {url_of(service, path)}", "body": body}


def _checked(wanted: GcpOptions, calls: Calls) -> Found:
    print(f"Checking the project {calls.project} ...", flush=True)
    preflight = GcpPreflight(wanted, calls)
    found = preflight.run()
    if found is None:
        text = "\n".join(f"  - {problem}" for problem in preflight.problems)
        raise errors.CliError(f"nothing was created or changed:\n{text}")
    return found


def _write_secret(calls: Calls, wanted: GcpOptions, initial_user: Any) -> Dict[str, str]:
    stored = secret.GcpSecret(calls, wanted.cluster_id)
    known = (stored.read() or {}) if stored.exists() else {}
    members = changed(known, wanted, None, initial_user)
    stored.write(members, wanted)
    return members


def _wait(calls: Calls, wanted: GcpOptions, url: str) -> None:
    name = names.of_cluster(wanted.cluster_id, "master")
    path = f"zones/{wanted.zone}/instances/{name}/serialPort"

    def console() -> str:
        try:
            return str(calls.compute("GET", path).get("contents", ""))
        except errors.CliError:
            return ""

    see = (
        f"gcloud compute instances get-serial-port-output {name} --zone {wanted.zone} --project "
        f"{calls.project}"
    )
    wait_for_master(url, name, console, see)
