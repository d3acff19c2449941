"""The master's configuration in a cloud: the parts of its template that all clouds share.

Variables are written `${name}`; a literal `${` is written `${!`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, Iterable, Mapping

from determined.cli import errors
from determined_deploy.cloud.options import ClusterOptions

VARIABLE = re.compile(r"\$\{(?!!)([^}]*)\}")
SHARED_FILES = "/mnt/determined-shared"
IN_TASKS = "/run/determined/workdir/shared_fs"
_TEMPLATE = """\
port: ${port}
enable_cors: ${enable_cors}
cluster_name: ${cluster_id}
db: ${database}
security: ${security}
checkpoint_storage:
  type: %(storage)s
  bucket: ${bucket}
resource_manager:
  type: agent
  default_aux_resource_pool: aux-pool
  default_compute_resource_pool: compute-pool
  scheduler: ${scheduler}
resource_pools:
  - pool_name: aux-pool
    max_aux_containers_per_agent: ${max_aux_containers}
    provider:
%(provider)s\
      max_idle_agent_period: ${max_idle_period}
      max_agent_starting_period: ${max_starting_period}
      agent_reconnect_attempts: ${reconnect_attempts}
      agent_reconnect_backoff: ${reconnect_backoff}
      agent_config_file_contents: ${agent_config}
      startup_script: ${agent_script}
      master_cert_name: ${tls_name}
%(aux)s\
      min_instances: 0
      max_instances: ${max_agents}
  - pool_name: compute-pool
    max_aux_containers_per_agent: 0
    provider:
%(provider)s\
      max_idle_agent_period: ${max_idle_period}
      max_agent_starting_period: ${max_starting_period}
      agent_reconnect_attempts: ${reconnect_attempts}
      agent_reconnect_backoff: ${reconnect_backoff}
      agent_config_file_contents: ${agent_config}
      startup_script: ${agent_script}
      master_cert_name: ${tls_name}
%(compute)s\
      min_instances: ${min_agents}
      max_instances: ${max_agents}
notebook_timeout: ${notebook_timeout}
task_container_defaults: ${task_container_defaults}
"""
_MOUNT = """\
set -e
apt-get update -q
apt-get install -q -y nfs-common
mkdir -p %(place)s
mount -t %(how)s %(address)s %(place)s
"""


def template(storage: str, provider: str, aux: str, compute: str) -> str:
    """The template of a cloud.

    Args:
        storage: the type of `checkpoint_storage`.
        provider: lines of the provider of both pools, with six spaces before each.
        aux: more lines of the provider of the pool without slots.
        compute: more lines of that of the pool with slots.
    """
    return _TEMPLATE % {
        "storage": storage,
        "provider": provider,
        "aux": aux,
        "compute": compute,
    }


def checked(text: str, variables: Iterable[str], is_own: Callable[[str], bool], own: str) -> str:
    """A template, if all its variables exist.

    Args:
        text: the template.
        variables: the variables.
        is_own: whether a name is a variable of the cloud's own.
        own: these in words, for the error.

    Raises:
        CliError: a variable does not exist.
    """
    names = set(variables)
    for name in VARIABLE.findall(text):
        if name not in names and not is_own(name):
            raise errors.CliError(
                f"the master's configuration template has the unknown variable ${{{name}}}; "
                f"known are {', '.join(sorted(names))}{own}; a literal ${{ is written ${{!"
            )
    return text


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its variables replaced; `${!` becomes `${`."""
    return VARIABLE.sub(lambda match: values[match[1]], text).replace("${!", "${")


def values(options: ClusterOptions) -> Dict[str, Any]:
    """The variables whose values no cloud changes."""
    return {
        "cluster_id": options.cluster_id,
        "port": str(options.port),
        "scheme": options.scheme,
        "enable_cors": as_json(options.enable_cors),
        "security": as_json(_security(options)),
        "scheduler": as_json(_scheduler(options)),
        "tag_value": options.tag_value,
        "agent_config": as_json(_agent_config(options)),
        "aux_instance_type": options.aux_instance_type,
        "compute_instance_type": options.compute_instance_type,
        "min_agents": str(options.min_agents),
        "max_agents": str(options.max_agents),
        "max_aux_containers": str(options.max_aux_containers),
        "max_idle_period": options.max_idle_period,
        "max_starting_period": options.max_starting_period,
        "reconnect_attempts": str(options.reconnect_attempts),
        "reconnect_backoff": str(options.reconnect_backoff),
        "tls_name": as_json(options.tls_name),
        "notebook_timeout": as_json(options.notebook_timeout),
    }


def task_defaults(options: ClusterOptions, has_shared_files: bool) -> str:
    """`task_container_defaults`: images, and the directory of shared files."""
    defaults: Dict[str, Any] = {}
    images = {"cpu": options.cpu_image, "gpu": options.gpu_image}
    if any(images.values()):
        defaults["image"] = {kind: name for kind, name in images.items() if name}
    if has_shared_files:
        defaults["bind_mounts"] = [{"host_path": SHARED_FILES, "container_path": IN_TASKS}]
    return as_json(defaults)


def mount_script(how: str, address: str) -> str:
    """The start script of agents that mounts shared files.

    Args:
        how: the type of the file system, and options of `mount`.
        address: what is mounted.
    """
    return as_json(_MOUNT % {"place": SHARED_FILES, "how": how, "address": address})


def as_json(value: Any) -> str:
    """A value as JSON, which is YAML too."""
    return json.dumps(value)


def _security(options: ClusterOptions) -> Dict[str, Any]:
    if not options.tls_cert:
        return {}
    return {"tls": {"cert": "/etc/determined/tls.crt", "key": "/etc/determined/tls.key"}}


def _scheduler(options: ClusterOptions) -> Dict[str, Any]:
    scheduler: Dict[str, Any] = {"preemption": True} if options.preemption else {}
    return {**scheduler, "type": options.scheduler_type} if options.scheduler_type else scheduler


def _agent_config(options: ClusterOptions) -> Dict[str, Any]:
    if not options.shuts_down_lost_agents:
        return {}
    return {"hooks": {"on_connection_lost": ["/sbin/shutdown", "now"]}}
