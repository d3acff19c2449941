"""The stack of a cluster: a template of CloudFormation with its outputs."""

from __future__ import annotations

from typing import Any, Dict

from determined_deploy.aws.machine_rules import Images
from determined_deploy.aws.options import Options
from determined_deploy.aws.resources import boot, data, master_config, network, rights
from determined_deploy.cloud.wheel import Keys

MASTER_DISK_GB = 40


def template(options: Options, images: Images, keys: Keys) -> Dict[str, Any]:
    """The template of a cluster.

    Args:
        options: what is asked for.
        images: ids of images, and facts of the instance types.
        keys: where the files will lie in the bucket.
    """
    values = master_config.values(options, images)
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"Determined cluster {options.cluster_id} ({options.deployment_type})",
        "Resources": {
            **network.resources(options),
            **rights.resources(options),
            **data.resources(options),
            "Master": _master(options, images.master, boot.user_data(options, keys, values)),
            "Address": _address(options),
        },
        "Outputs": {
            "MasterId": {"Value": {"Ref": "Master"}},
            "MasterAddress": {
                "Value": {"Fn::Sub": f"{options.scheme}://${{Address}}:{options.port}"}
            },
            "Bucket": {"Value": {"Ref": data.BUCKET}},
        },
    }


def _address(options: Options) -> Dict[str, Any]:
    """An address that stays when the master's machine is started again."""
    entry: Dict[str, Any] = {
        "Type": "AWS::EC2::EIP",
        "Properties": {"Domain": "vpc", "InstanceId": {"Ref": "Master"}},
    }
    if options.has_own_network:
        entry["DependsOn"] = ["GatewayOfNetwork"]
    return entry


def _master(options: Options, image: str, user_data: Dict[str, Any]) -> Dict[str, Any]:
    group = {"Fn::GetAtt": ["MasterGroup", "GroupId"]}
    root = {"VolumeSize": MASTER_DISK_GB, "VolumeType": "gp3", "Encrypted": True}
    place: Dict[str, Any] = {"SecurityGroupIds": [group]}
    if options.has_own_network:
        place["SubnetId"] = {"Ref": network.SUBNETS[0]}
    entry: Dict[str, Any] = {
        "Type": "AWS::EC2::Instance",
        "Properties": {
            "ImageId": image,
            "InstanceType": options.master_instance_type,
            "KeyName": options.keypair,
            "IamInstanceProfile": {"Ref": "MasterProfile"},
            "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": root}],
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
            "UserData": user_data,
            "Tags": [{"Key": "Name", "Value": f"determined-{options.cluster_id}-master"}],
            **place,
        },
    }
    if options.has_own_network:
        entry["DependsOn"] = ["RouteOut"]
    return entry
