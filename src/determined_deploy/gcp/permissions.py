"""Permissions that `up` and `down` need in the project, and the check that they are there."""

from __future__ import annotations

from typing import List

from determined.cli import errors
from determined_deploy.gcp.calls import Calls, Refused

PERMISSIONS = (
    *(f"compute.addresses.{act}" for act in ("create", "delete", "get", "list", "use")),
    *(f"compute.disks.{act}" for act in ("create", "createSnapshot", "delete", "get", "list")),
    *(f"compute.disks.{act}" for act in ("resize", "setLabels", "use")),
    *(f"compute.firewalls.{act}" for act in ("create", "delete", "get", "update")),
    *(f"compute.instances.{act}" for act in ("create", "delete", "get", "list", "stop", "start")),
    *(f"compute.instances.{act}" for act in ("setLabels", "setMetadata", "setMachineType")),
    *(f"compute.instances.{act}" for act in ("setMinCpuPlatform", "setServiceAccount", "setTags")),
    "compute.instances.getSerialPortOutput",
    *(f"compute.networks.{act}" for act in ("create", "delete", "get", "list", "updatePolicy")),
    "compute.snapshots.create",
    "compute.snapshots.setLabels",
    *(f"compute.subnetworks.{act}" for act in ("use", "useExternalIp")),
    *(f"iam.serviceAccounts.{act}" for act in ("actAs", "create", "delete", "get")),
    *(f"iam.serviceAccounts.{act}" for act in ("getIamPolicy", "setIamPolicy")),
    *(f"compute.{kind}.get" for kind in ("projects", "regions", "zones", "machineTypes")),
    "compute.acceleratorTypes.get",
    "compute.diskTypes.get",
    "resourcemanager.projects.get",
    "resourcemanager.projects.getIamPolicy",
    "resourcemanager.projects.setIamPolicy",
    *(f"secretmanager.secrets.{act}" for act in ("create", "delete", "get")),
    *(f"secretmanager.secrets.{act}" for act in ("getIamPolicy", "setIamPolicy")),
    *(f"secretmanager.versions.{act}" for act in ("access", "add", "destroy", "get")),
    *(f"storage.buckets.{act}" for act in ("create", "get", "getIamPolicy", "setIamPolicy")),
    *(f"storage.objects.{act}" for act in ("create", "get")),
)
"""What `up` and `down` need in the project."""
MAX_TESTED = 100
"""Of one question, as GCP bounds it."""


def check(calls: Calls) -> bool:
    """Ask GCP whether these credentials have all permissions; true if they do.

    Raises:
        CliError: some are missing, and named.
    """
    project = calls.project
    lacking: List[str] = []
    path = f"projects/{project}:testIamPermissions"
    for start in range(0, len(PERMISSIONS), MAX_TESTED):
        names = list(PERMISSIONS[start : start + MAX_TESTED])
        try:
            answer = calls.call("cloudresourcemanager", "POST", path, {"permissions": names})
        except Refused as error:
            if error.status != 400:
                raise
            # GCP refuses the whole question if it does not know one of the permissions.
            print(f"The permissions could not be checked: {error}")
            return True
        lacking += [one for one in names if one not in answer.get("permissions", ())]
    if len(lacking) == len(PERMISSIONS):
        raise errors.CliError(
            f"--project-id {project}: these credentials have no rights there, or there is no such "
            "project; gcloud projects list shows yours"
        )
    if lacking:
        raise errors.CliError(
            f"these credentials lack permissions in the project {project}: {', '.join(lacking)}; "
            "have a role with them added, such as roles/owner"
        )
    return True
