"""The master's configuration on GCP: a template, and the values that fill it."""

from __future__ import annotations

import argparse
from typing import Dict

from determined_deploy.cloud import master_config as shared
from determined_deploy.cloud.master_config import as_json
from determined_deploy.gcp import names
from determined_deploy.gcp.options import GcpOptions

_PROVIDER = """\
      type: gcp
      project: ${project}
      zone: ${zone}
      label_key: managed-by
      label_value: ${tag_value}
      name_prefix: ${tag_value}-
      labels: ${labels}
      network_interface: ${agent_network}
      network_tags: ${agent_tags}
      service_account: ${agent_account}
      operation_timeout_period: ${operation_timeout}
      use_cloud_logging: ${cloud_logging}
      boot_disk_size: ${agent_disk_size}
      boot_disk_type: ${agent_disk_type}
      master_url: ${scheme}://internal-ip:${port}
"""
_AUX = """\
      boot_disk_source_image: ${aux_image}
      instance_type: {machine_type: "${aux_instance_type}", gpu_type: "", gpu_num: 0}
"""
_COMPUTE = """\
      boot_disk_source_image: ${compute_image}
      instance_type: ${compute_instance}
      cpu_slots_allowed: true
"""
TEMPLATE = shared.template("gcs", _PROVIDER, _AUX, _COMPUTE)


def template_of(options: GcpOptions) -> str:
    """The template to use.

    Raises:
        CliError: it has a variable that does not exist.
    """
    text = options.config_template or TEMPLATE
    return shared.checked(text, values(options, "", ""), lambda name: False, "")


def dump(args: argparse.Namespace) -> None:
    """`det deploy gcp dump-master-config-template`: print the template."""
    print(TEMPLATE, end="")


def values(options: GcpOptions, project: str, subnetwork: str) -> Dict[str, str]:
    """The values of the variables.

    Args:
        options: the cluster.
        project: its id.
        subnetwork: the path of the subnetwork of all machines.
    """
    network = options.network_path(project)
    place = {"network": network, "subnetwork": subnetwork, "external_ip": True}
    kind = {
        "machine_type": options.compute_instance_type,
        "gpu_type": options.gpu_type,
        "gpu_num": options.gpu_num,
        "preemptible": options.preemptible,
    }
    account = {"email": names.email(options.cluster_id, "agent", project)}
    return {
        **shared.values(options),
        "project": project,
        "zone": options.zone,
        "database": as_json({"data_dir": "/var/lib/determined/postgres"}),
        "bucket": names.bucket(options.cluster_id, project),
        "labels": as_json(options.labels),
        "agent_network": as_json(place),
        "agent_tags": as_json([names.of_cluster(options.cluster_id, "agent")]),
        "agent_account": as_json(account),
        "agent_script": _agent_script(options),
        "agent_disk_size": str(options.agent_disk_size),
        "agent_disk_type": as_json(options.agent_disk_type),
        "operation_timeout": options.operation_timeout,
        "cloud_logging": as_json(options.cloud_logging),
        "aux_image": options.aux_image,
        "compute_image": image_path(options.compute_image, project),
        "compute_instance": as_json(kind),
        "task_container_defaults": shared.task_defaults(options, bool(options.filestore)),
    }


def image_path(image: str, project: str) -> str:
    """The path of an image: a name alone is one of the project."""
    return image if "/" in image else f"projects/{project}/global/images/{image}"


def _agent_script(options: GcpOptions) -> str:
    return shared.mount_script("nfs", options.filestore) if options.filestore else '""'
