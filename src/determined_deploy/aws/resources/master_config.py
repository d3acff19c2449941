"""The master's configuration on AWS: a template, and the values that fill it.

Its variables are filled by CloudFormation (`Fn::Sub`), since most of them exist only there. A
literal `${` is written `${!`.
"""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined_deploy.aws.machine_rules import Images
from determined_deploy.aws.options import Options
from determined_deploy.aws.resources import data, network
from determined_deploy.cloud import master_config as shared
from determined_deploy.cloud.master_config import as_json

_PROVIDER = """\
      type: aws
      region: ${AWS::Region}
      ssh_key_name: ${keypair}
      tag_key: managed_by
      tag_value: ${tag_value}
      iam_instance_profile_arn: ${agent_profile}
      log_group: ${log_group}
      network_interface: ${agent_network}
      custom_tags: ${custom_tags}
      master_url: ${scheme}://local-ipv4:${port}
"""
_AUX = """\
      image_id: ${aux_image}
      instance_type: ${aux_instance_type}
      instance_slots: ${aux_slots}
"""
_COMPUTE = """\
      image_id: ${compute_image}
      instance_type: ${compute_instance_type}
      instance_slots: ${compute_slots}
      cpu_slots_allowed: true
      spot: ${spot}
      spot_max_price: ${spot_max_price}
"""
TEMPLATE = shared.template("s3", _PROVIDER, _AUX, _COMPUTE)
_EFS = (
    "nfs4 -o nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport",
    "${files}.efs.${AWS::Region}.${AWS::URLSuffix}:/",
)


def template_of(options: Options) -> str:
    """The template to use.

    Raises:
        CliError: it has a variable that does not exist.
    """
    text = options.config_template or TEMPLATE
    variables = values(options, Images("", "", ""))
    own = " and AWS's own, such as AWS::Region"
    return shared.checked(text, variables, lambda name: name.startswith("AWS::"), own)


def dump(args: argparse.Namespace) -> None:
    """`det deploy aws dump-master-config-template`: print the template."""
    print(TEMPLATE, end="")


def values(options: Options, images: Images) -> Dict[str, Any]:
    """The values of the variables: literals, and references to resources of the stack."""
    group = {"Fn::GetAtt": ["AgentGroup", "GroupId"]}
    place: List[Any] = ['{"public_ip": true, "security_group_id": "', group, '"']
    subnet = {"Ref": network.SUBNETS[0]} if options.has_own_network else options.agent_subnet_id
    if subnet:
        place += [', "subnet_id": "', subnet, '"']
    return {
        **shared.values(options),
        "database": _database(options),
        "bucket": {"Ref": data.BUCKET},
        "keypair": as_json(options.keypair),
        "agent_profile": {"Fn::GetAtt": ["AgentProfile", "Arn"]},
        "log_group": {"Ref": data.LOGS} if options.log_group else '""',
        "agent_network": {"Fn::Join": ["", [*place, "}"]]},
        "agent_script": _agent_script(options),
        "custom_tags": as_json([{"key": k, "value": v} for k, v in options.tags.items()]),
        "aux_image": images.aux,
        "aux_slots": as_json(images.aux_gpus),
        "compute_image": images.compute,
        "compute_slots": as_json(images.compute_gpus),
        "spot": "only" if options.spot else "never",
        "spot_max_price": as_json(options.spot_max_price or "OnDemand"),
        "task_container_defaults": shared.task_defaults(options, options.has_efs),
    }


def _database(options: Options) -> Any:
    if not options.has_rds:
        return as_json({"data_dir": "/var/lib/determined/postgres"})
    address = {"Fn::GetAtt": ["Database", "Endpoint.Address"]}
    port = {"Fn::GetAtt": ["Database", "Endpoint.Port"]}
    rest = f'"user": "{data.DATABASE_USER}", "name": "{data.DATABASE_NAME}"'
    parts = ['{"host": "', address, '", "port": ', port, f', {rest}, "ssl_mode": "require"', "}"]
    return {"Fn::Join": ["", parts]}


def _agent_script(options: Options) -> Any:
    if not options.has_efs:
        return '""'
    files = {"files": data.files_id(options)}
    return {"Fn::Sub": [shared.mount_script(*_EFS), files]}
