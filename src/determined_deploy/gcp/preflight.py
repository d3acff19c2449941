"""Checks of a project, before anything is paid for. Each only reads."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from determined.cli import errors
from determined_deploy.cloud.wheel import Keys
from determined_deploy.gcp import names, permissions, quotas, series
from determined_deploy.gcp.calls import Calls, Refused
from determined_deploy.gcp.options import GcpOptions
from determined_deploy.gcp.resources import master_config, plan
from determined_deploy.gcp.resources.bucket import Bucket
from determined_deploy.gcp.resources.secret import GcpSecret

_MASTER, _AUX = "--master-instance-type", "--aux-agent-instance-type"
_COMPUTE = "--compute-agent-instance-type"


class ClusterState(NamedTuple):
    """Resources that are there already: the machine and the disk of the master; the subnetwork."""

    machine: Optional[Dict[str, Any]]
    disk: Optional[Dict[str, Any]]
    subnetwork: str

    @property
    def is_new(self) -> bool:
        return self.machine is None and self.disk is None


class GcpPreflight:
    """Checks of one project. `problems` has what stands in the way, each with its remedy."""

    def __init__(self, options: GcpOptions, calls: Calls) -> None:
        self._options = options
        self._calls = calls
        self._types: Dict[str, Dict[str, Any]] = {}
        """Machine types that the zone has, by the option that names them."""
        self.problems: List[str] = []

    def run(self) -> Optional[ClusterState]:
        """Check everything; what is there, unless something stands in the way."""
        if self._check(lambda: permissions.check(self._calls)) is None:
            return None  # each further check would fail for the same reason
        self._check(self._zone)
        self._check(self._machine_types)
        self._check(self._gpus)
        self._check(self._disk_types)
        self._images()
        self._check(self._snapshot)
        self._check(lambda: GcpSecret(self._calls, self._options.cluster_id).exists())
        self._check(lambda: Bucket(self._calls, self._options.cluster_id).exists())
        self._check(self._monitoring)
        self._check(self._names)
        state = self._check(self._find_state)
        if state is not None:
            self._check(lambda: self._quotas(state))
        return None if self.problems else state

    def _check(self, check: Callable[[], Any]) -> Any:
        try:
            return check()
        except errors.CliError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return None

    def _zone(self) -> None:
        region, zone = self._options.region, self._options.zone
        if self._calls.find_compute(f"zones/{zone}") is None:
            answer = self._calls.find_compute(f"regions/{region}")
            zones = [names.last(url) for url in (answer or {}).get("zones", ())]
            remedy = (
                f"zones of {region} are {', '.join(sorted(zones))}"
                if zones
                else (f"there is no region {region} either: gcloud compute regions list")
            )
            raise errors.CliError(f"--zone {zone}: GCP has no such zone; {remedy}")

    def _machine_types(self) -> None:
        options = self._options
        by_option = {
            _MASTER: options.master_instance_type,
            _AUX: options.aux_instance_type,
            _COMPUTE: options.compute_instance_type,
        }
        for option, name in by_option.items():
            machine_type = self._calls.find_compute(f"zones/{options.zone}/machineTypes/{name}")
            if machine_type is None:
                self.problems.append(
                    f"{option} {name}: {options.zone} has no such machine type; choose another "
                    f"type or --zone: gcloud compute machine-types list --zones {options.zone}"
                )
                continue
            self._types[option] = machine_type
            if option == _COMPUTE:
                self._built_in_gpus(name, machine_type.get("accelerators") or ())

    def _built_in_gpus(self, name: str, gpus: Sequence[Dict[str, Any]]) -> None:
        """The master takes a type that comes with GPUs only with their type and number."""
        option_values = self._options.gpu_type, self._options.gpu_num
        for one in gpus:
            kind = names.last(str(one.get("guestAcceleratorType")))
            count = int(one.get("guestAcceleratorCount", 0))
            if option_values != (kind, count):
                raise errors.CliError(
                    f"--compute-agent-instance-type {name} comes with {count} x {kind}: give "
                    f"--gpu-type {kind} --gpu-num {count}"
                )

    def _disk_types(self) -> None:
        options = self._options
        disk_types = {options.master_disk_type: f"the disk of {options.master_instance_type}"}
        if options.agent_disk_type:
            disk_types[options.agent_disk_type] = "--disk-type"
        else:
            for agent in (options.compute_instance_type, options.aux_instance_type):
                disk_types[series.of(agent).disk] = f"the disk of {agent}"
        for name, option in disk_types.items():
            if self._calls.find_compute(f"zones/{options.zone}/diskTypes/{name}") is None:
                self.problems.append(
                    f"{option} {name}: {options.zone} has no such type of disk: gcloud compute "
                    f"disk-types list --zones {options.zone}"
                )

    def _gpus(self) -> None:
        options = self._options
        path = f"zones/{options.zone}/acceleratorTypes/{options.gpu_type}"
        if options.attaches_gpus and self._calls.find_compute(path) is None:
            raise errors.CliError(
                f"--gpu-type {options.gpu_type}: {options.zone} has no such GPU; choose another "
                "type or --zone: gcloud compute accelerator-types list; or give --gpu-num 0"
            )

    def _images(self) -> None:
        options = self._options
        images = {
            _MASTER: options.master_image,
            _AUX: options.aux_image,
            _COMPUTE: options.compute_image,
        }
        for option, image in images.items():
            self._check(functools.partial(self._image, image, option))

    def _image(self, image: str, of_type: str) -> None:
        """Check that a machine image exists, and boots on the type that an option names."""
        path = master_config.image_path(image, self._calls.project)
        option = "--environment-image " if image == self._options.environment_image else ""
        try:
            resource = self._calls.find("compute", path)
        except Refused as error:
            raise errors.CliError(f"{option}{path}: {error}") from None
        if resource is None:
            raise errors.CliError(
                f"{option}{path}: there is no such machine image: gcloud compute images list; "
                "--environment-image chooses that of agents with slots"
            )
        machine = self._types.get(of_type, {})
        needed, architecture = machine.get("architecture"), resource.get("architecture")
        if needed and architecture and needed != architecture:
            raise errors.CliError(
                f"{option}{path} is for {architecture}, and {of_type} {machine['name']} has "
                f"processors of {needed}: give an image for {needed}, or another type"
            )

    def _monitoring(self) -> None:
        """The APIs that take logs and metrics; reading them may be refused for lack of rights."""
        if not self._options.cloud_logging:
            return
        for service, what in (("logging", "logs"), ("monitoring", "metricDescriptors")):
            try:
                path = self._calls.in_project(what)
                self._calls.call(service, "GET", path, query={"pageSize": "1"})
            except Refused as error:
                if error.is_disabled:
                    raise

    def _snapshot(self) -> None:
        name = self._options.database_snapshot
        if not name:
            return
        snapshot = self._calls.find("compute", plan.snapshot_path(name, self._calls.project))
        if snapshot is None:
            raise errors.CliError(
                f"--db-snapshot {name}: there is no such snapshot; gcloud compute snapshots list"
            )
        if int(snapshot.get("diskSizeGb", 0)) > self._options.database_size:
            raise errors.CliError(
                f"--db-snapshot {name} needs {snapshot['diskSizeGb']} GB: give --db-size "
                f"{snapshot['diskSizeGb']}"
            )

    def _names(self) -> None:
        """Resources that `up` would change must be of this cluster."""
        options, project = self._options, self._calls.project
        mark = names.mark(options.cluster_id)
        rules = [] if options.host_project else plan.firewalls(options, project)
        for resource in [plan.address(options), *rules]:
            present = self._calls.find_compute(resource.path)
            if present is not None and present.get("description") != mark:
                self.problems.append(
                    f"{resource.path} exists and is not of this cluster: choose another "
                    "--cluster-id"
                )
            network = names.last(str((present or {}).get("network", "")))
            if network not in ("", options.network) and resource.collection.endswith("firewalls"):
                self.problems.append(
                    f"--network {options.network}: {resource.path} is in the network {network}; "
                    f"give --network {network}, or begin with det deploy gcp down --cluster-id "
                    f"{options.cluster_id}"
                )

    def _find_state(self) -> ClusterState:
        options, place = self._options, plan.Place(self._calls.project, "", "", Keys(""))
        zone = f"zones/{options.zone}"
        machine = self._calls.find_compute(
            f"{zone}/instances/{names.of_cluster(options.cluster_id, 'master')}"
        )
        disk = self._calls.find_compute(plan.disk(options, place.project).path)
        for one in (machine, disk):
            if one and one.get("labels", {}).get(names.LABEL) != options.cluster_id:
                raise errors.CliError(
                    f"{zone} has a {one['name']} that is not of this cluster: choose another "
                    "--cluster-id"
                )
        self._elsewhere()
        size = int((disk or {}).get("sizeGb", 0))
        if size > options.database_size:
            raise errors.CliError(
                f"--db-size {options.database_size}: the disk of the database has {size} GB, and "
                f"disks do not shrink; give --db-size {size}"
            )
        kind = names.last(str((disk or {}).get("type", "")))
        if kind in series.of(options.master_instance_type).refused:
            raise errors.CliError(
                f"--master-instance-type {options.master_instance_type}: the disk of the database "
                f"is of type {kind}, which GCP does not attach to such a machine; choose a type "
                "that takes it, or make another cluster from its snapshot (--db-snapshot)"
            )
        subnetwork = self._subnetwork()
        if machine is not None:
            path = names.network_of(machine)
            network = path if names.project_of(path) != place.project else names.last(path)
            if path != options.network_path(place.project):
                raise errors.CliError(
                    f"--network {options.network}: the cluster {options.cluster_id} is in the "
                    f"network {network}, and cannot be moved; give --network {network}"
                )
        return ClusterState(machine, disk, subnetwork)

    def _elsewhere(self) -> None:
        """The database's disk stays in its zone, so a cluster cannot move."""
        options = self._options
        condition = f'labels.{names.LABEL} = "{options.cluster_id}"'
        for one in self._calls.aggregated("disks", condition):
            zone = names.last(str(one.get("zone", "")))
            is_database = one["name"] == names.of_cluster(options.cluster_id, "database")
            if is_database and zone != options.zone:
                raise errors.CliError(
                    f"--zone {options.zone}: the cluster {options.cluster_id} is in {zone}, and "
                    f"cannot be moved; give --region {zone.rpartition('-')[0]} --zone {zone}"
                )

    def _subnetwork(self) -> str:
        options = self._options
        path = options.network_path(self._calls.project)
        network = self._calls.find("compute", path)
        if network is None and options.host_project:
            raise errors.CliError(
                f"--network {path}: there is no such network, or the project "
                f"{options.host_project} does not share it: gcloud compute networks list "
                f"--project {options.host_project}"
            )
        if network is None:
            return plan.own_subnetwork(options, self._calls.project)
        for url in network.get("subnetworks", ()):
            if f"/regions/{options.region}/" in url:
                return f"projects/{str(url).partition('/projects/')[2]}"
        raise errors.CliError(
            f"--network {options.network} has no subnetwork in {options.region}: add it, choose "
            "another --region, or leave --network out"
        )

    def _quotas(self, state: ClusterState) -> None:
        options, project = self._options, self._calls.project
        region = self._calls.find_compute(f"regions/{options.region}") or {}
        kinds = (_MASTER, _COMPUTE, _AUX)
        counts = [int(self._types.get(kind, {}).get("guestCpus", 0)) for kind in kinds]
        needs = quotas.regional(options, quotas.ClusterCpus(*counts), state.is_new)
        self.problems += quotas.problems(needs, region.get("quotas"), options.region)
        path = options.network_path(project)
        makes_network = self._calls.find("compute", path) is None
        whole = self._calls.find_compute("") or {}
        needs = quotas.of_project(options, makes_network, state.is_new)
        self.problems += quotas.problems(needs, whole.get("quotas"), project)
