"""The master's configuration on AWS: a template, and the values that fill it.

Its variables are filled by CloudFormation (`Fn::Sub`), since most of them exist only there. A
literal `${` is written `${!`.
"""

from __future__ import annotations

import argparse
import json
import re
from typing import Any, Dict, List

from determined.cli import errors
from determined.cli.deploy.aws import data, network
from determined.cli.deploy.aws.options import Options

_VARIABLE = re.compile(r"\$\{(?!!)([^}]*)\}")
_PROVIDER = """\
      type: aws
      region: ${AWS::Region}
      ssh_key_name: ${keypair}
      tag_key: managed_by
      tag_value: ${tag_value}
      iam_instance_profile_arn: ${agent_profile}
      network_interface: ${agent_network}
      max_idle_agent_period: ${max_idle_period}
      max_agent_starting_period: ${max_starting_period}
      agent_reconnect_attempts: ${reconnect_attempts}
      agent_reconnect_backoff: ${reconnect_backoff}
      agent_config_file_contents: ${agent_config}
      startup_script: ${agent_script}
      custom_tags: ${custom_tags}
      master_url: ${scheme}://local-ipv4:${port}
      master_cert_name: ${tls_name}
"""
TEMPLATE = f"""\
port: ${{port}}
enable_cors: ${{enable_cors}}
cluster_name: ${{cluster_id}}
db: ${{database}}
security: ${{security}}
checkpoint_storage:
  type: s3
  bucket: ${{bucket}}
resource_manager:
  type: agent
  default_aux_resource_pool: aux-pool
  default_compute_resource_pool: compute-pool
  scheduler: ${{scheduler}}
resource_pools:
  - pool_name: aux-pool
    max_aux_containers_per_agent: ${{max_aux_containers}}
    provider:
{_PROVIDER}\
      image_id: ${{aux_image}}
      instance_type: ${{aux_instance_type}}
      min_instances: 0
      max_instances: ${{max_agents}}
  - pool_name: compute-pool
    max_aux_containers_per_agent: 0
    provider:
{_PROVIDER}\
      image_id: ${{compute_image}}
      instance_type: ${{compute_instance_type}}
      cpu_slots_allowed: true
      min_instances: ${{min_agents}}
      max_instances: ${{max_agents}}
      spot: ${{spot}}
      spot_max_price: ${{spot_max_price}}
notebook_timeout: ${{notebook_timeout}}
task_container_defaults: ${{task_container_defaults}}
"""
SHARED_FILES = "/mnt/determined-shared"
IN_TASKS = "/run/determined/workdir/shared_fs"
_MOUNT = """\
set -e
apt-get update -q
apt-get install -q -y nfs-common
mkdir -p %(place)s
mount -t nfs4 -o nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport \
%(files)s.efs.${AWS::Region}.${AWS::URLSuffix}:/ %(place)s
"""


def template_of(options: Options) -> str:
    """The template to use.

    Raises:
        CliError: it has a variable that does not exist.
    """
    text = options.config_template or TEMPLATE
    known = set(values(options, "", ""))
    for name in _VARIABLE.findall(text):
        if name not in known and not name.startswith("AWS::"):
            raise errors.CliError(
                f"the master's configuration template has the unknown variable ${{{name}}}; "
                f"known are {', '.join(sorted(known))} and AWS's own, such as AWS::Region; a "
                "literal ${ is written ${!"
            )
    return text


def dump(args: argparse.Namespace) -> None:
    """`det deploy aws dump-master-config-template`: print the template."""
    print(TEMPLATE, end="")


def values(options: Options, aux_image: str, compute_image: str) -> Dict[str, Any]:
    """The values of the variables: literals, and references to resources of the stack."""
    group = {"Fn::GetAtt": ["AgentGroup", "GroupId"]}
    place: List[Any] = ['{"public_ip": true, "security_group_id": "', group, '"']
    subnet = {"Ref": network.SUBNETS[0]} if options.has_own_network else options.agent_subnet_id
    if subnet:
        place += [', "subnet_id": "', subnet, '"']
    return {
        "cluster_id": options.cluster_id,
        "port": str(options.port),
        "scheme": options.scheme,
        "enable_cors": _json(options.enable_cors),
        "database": _database(options),
        "security": _json(_security(options)),
        "bucket": {"Ref": data.BUCKET},
        "scheduler": _json(_scheduler(options)),
        "keypair": _json(options.keypair),
        "tag_value": options.tag_value,
        "agent_profile": {"Fn::GetAtt": ["AgentProfile", "Arn"]},
        "agent_network": {"Fn::Join": ["", [*place, "}"]]},
        "agent_config": _json(_agent_config(options)),
        "agent_script": _agent_script(options),
        "custom_tags": _json([{"key": k, "value": v} for k, v in options.tags.items()]),
        "aux_image": aux_image,
        "compute_image": compute_image,
        "aux_instance_type": options.aux_instance_type,
        "compute_instance_type": options.compute_instance_type,
        "min_agents": str(options.min_agents),
        "max_agents": str(options.max_agents),
        "max_aux_containers": str(options.max_aux_containers),
        "max_idle_period": options.max_idle_period,
        "max_starting_period": options.max_starting_period,
        "reconnect_attempts": str(options.reconnect_attempts),
        "reconnect_backoff": str(options.reconnect_backoff),
        "spot": "only" if options.spot else "never",
        "spot_max_price": _json(options.spot_max_price or "OnDemand"),
        "tls_name": _json(options.tls_name),
        "notebook_timeout": _json(options.notebook_timeout),
        "task_container_defaults": _json(_task_defaults(options)),
    }


def _database(options: Options) -> Any:
    if not options.has_rds:
        return _json({"data_dir": "/var/lib/determined/postgres"})
    address = {"Fn::GetAtt": ["Database", "Endpoint.Address"]}
    port = {"Fn::GetAtt": ["Database", "Endpoint.Port"]}
    rest = f'"user": "{data.DATABASE_USER}", "name": "{data.DATABASE_NAME}"'
    parts = ['{"host": "', address, '", "port": ', port, f', {rest}, "ssl_mode": "require"', "}"]
    return {"Fn::Join": ["", parts]}


def _security(options: Options) -> Dict[str, Any]:
    if not options.tls_cert:
        return {}
    return {"tls": {"cert": "/etc/determined/tls.crt", "key": "/etc/determined/tls.key"}}


def _scheduler(options: Options) -> Dict[str, Any]:
    found: Dict[str, Any] = {"preemption": True} if options.preemption else {}
    return {**found, "type": options.scheduler_type} if options.scheduler_type else found


def _agent_config(options: Options) -> Dict[str, Any]:
    if not options.shuts_down_lost_agents:
        return {}
    return {"hooks": {"on_connection_lost": ["/sbin/shutdown", "now"]}}


def _agent_script(options: Options) -> Any:
    if not options.has_efs:
        return '""'
    text = _json(_MOUNT % {"place": SHARED_FILES, "files": "${files}"})
    return {"Fn::Sub": [text, {"files": data.files_id(options)}]}


def _task_defaults(options: Options) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    images = {"cpu": options.cpu_image, "gpu": options.gpu_image}
    if any(images.values()):
        found["image"] = {kind: name for kind, name in images.items() if name}
    if options.has_efs:
        found["bind_mounts"] = [{"host_path": SHARED_FILES, "container_path": IN_TASKS}]
    return found


def _json(value: Any) -> str:
    """A value as JSON, which is YAML too."""
    return json.dumps(value)
