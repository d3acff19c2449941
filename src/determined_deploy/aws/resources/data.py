"""Resources of the stack that hold data: bucket, database, shared files."""

from __future__ import annotations

from typing import Any, Dict

from determined_deploy.aws.options import Options
from determined_deploy.aws.resources import network
from determined_deploy.aws.secret import name_of
from determined_deploy.cloud.secret import DATABASE

BUCKET, LOGS = "CheckpointBucket", "Logs"
LOG_DAYS = 90
"""How long CloudWatch keeps the journals."""
DATABASE_NAME, DATABASE_USER = "determined", "postgres"


def resources(options: Options) -> Dict[str, Any]:
    """Everything that holds data; `down` leaves it, or a snapshot of it."""
    entries = {BUCKET: _bucket()}
    entries.update(_rds(options) if options.has_rds else _disk(options))
    if options.has_efs:
        entries.update(_files(options))
    if options.log_group:
        entries[LOGS] = _logs(options)
    return entries


def files_id(options: Options) -> Any:
    """The file system that agents share."""
    return options.efs_id or {"Ref": "Files"}


def _bucket() -> Dict[str, Any]:
    private = {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    }
    encrypted = [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
    return {
        "Type": "AWS::S3::Bucket",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": {
            "PublicAccessBlockConfiguration": private,
            "BucketEncryption": {"ServerSideEncryptionConfiguration": encrypted},
        },
    }


def _logs(options: Options) -> Dict[str, Any]:
    policy = "Retain" if options.keeps_logs else "Delete"
    return {
        "Type": "AWS::Logs::LogGroup",
        "DeletionPolicy": policy,
        "UpdateReplacePolicy": "Retain",
        "Properties": {"LogGroupName": options.log_group, "RetentionInDays": LOG_DAYS},
    }


def _disk(options: Options) -> Dict[str, Any]:
    """A disk of the master's own: its PostgreSQL survives the instance."""
    return {
        "Disk": {
            "Type": "AWS::EC2::Volume",
            "DeletionPolicy": "Snapshot",
            "UpdateReplacePolicy": "Snapshot",
            "Properties": {
                "AvailabilityZone": {"Fn::GetAtt": ["Master", "AvailabilityZone"]},
                "Size": options.database_size,
                "VolumeType": "gp3",
                "Encrypted": True,
                **({"SnapshotId": options.database_snapshot} if options.database_snapshot else {}),
                "Tags": [{"Key": "Name", "Value": f"determined-{options.cluster_id}-database"}],
            },
        },
        "DiskOfMaster": {
            "Type": "AWS::EC2::VolumeAttachment",
            "Properties": {
                "Device": "/dev/sdf",
                "InstanceId": {"Ref": "Master"},
                "VolumeId": {"Ref": "Disk"},
            },
        },
    }


def _rds(options: Options) -> Dict[str, Any]:
    secret = name_of(options.cluster_id)
    properties: Dict[str, Any] = {
        "Engine": "postgres",
        "DBInstanceClass": options.database_type,
        "AllocatedStorage": str(options.database_size),
        "StorageType": "gp3",
        "StorageEncrypted": True,
        "BackupRetentionPeriod": 7,
        "PubliclyAccessible": False,
        # AWS reads it itself, so the stack does not show it.
        "MasterUserPassword": f"{{{{resolve:secretsmanager:{secret}:SecretString:{DATABASE}}}}}",
        "VPCSecurityGroups": [{"Fn::GetAtt": ["DatabaseGroup", "GroupId"]}],
    }
    if options.database_snapshot:
        properties["DBSnapshotIdentifier"] = options.database_snapshot
    else:
        properties.update(MasterUsername=DATABASE_USER, DBName=DATABASE_NAME)
    entries: Dict[str, Any] = {}
    if options.has_own_network:
        properties["DBSubnetGroupName"] = {"Ref": "DatabaseSubnets"}
        entries["DatabaseSubnets"] = {
            "Type": "AWS::RDS::DBSubnetGroup",
            "Properties": {
                "DBSubnetGroupDescription": f"determined cluster {options.cluster_id}",
                "SubnetIds": network.subnet_ids(),
            },
        }
    entries["Database"] = {
        "Type": "AWS::RDS::DBInstance",
        "DeletionPolicy": "Snapshot",
        "UpdateReplacePolicy": "Snapshot",
        "Properties": properties,
    }
    return entries


def _files(options: Options) -> Dict[str, Any]:
    entries: Dict[str, Any] = {}
    if not options.efs_id:
        tags = [{"Key": "Name", "Value": f"determined-{options.cluster_id}"}]
        entries["Files"] = {
            "Type": "AWS::EFS::FileSystem",
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
            "Properties": {"Encrypted": True, "FileSystemTags": tags},
        }
    for subnet in network.SUBNETS:
        entries[f"FilesOf{subnet}"] = {
            "Type": "AWS::EFS::MountTarget",
            "Properties": {
                "FileSystemId": files_id(options),
                "SubnetId": {"Ref": subnet},
                "SecurityGroups": [{"Fn::GetAtt": ["FilesGroup", "GroupId"]}],
            },
        }
    return entries
