"""Resources of the stack: networks, and who may reach whom."""

from __future__ import annotations

from typing import Any, Dict, List

from determined_deploy.aws.options import Options
from determined_deploy.cloud.options import services_port

Resources = Dict[str, Any]
DATABASE_PORT, NFS_PORT, SSH_PORT = 5432, 2049, 22
SUBNETS = ("FirstSubnet", "SecondSubnet")
_BLOCKS = ("10.0.0.0/20", "10.0.16.0/20")


def resources(options: Options) -> Resources:
    """The network, if the stack has one, and the security groups."""
    network = _network(options.cluster_id) if options.has_own_network else {}
    return {**network, **_groups(options)}


def subnet_ids() -> List[Any]:
    """The stack's own subnets."""
    return [{"Ref": name} for name in SUBNETS]


def _network(name: str) -> Resources:
    tags = [{"Key": "Name", "Value": f"determined-{name}"}]
    entries: Resources = {
        "Network": _resource(
            "AWS::EC2::VPC",
            CidrBlock="10.0.0.0/16",
            EnableDnsSupport=True,
            EnableDnsHostnames=True,
            Tags=tags,
        ),
        "Gateway": _resource("AWS::EC2::InternetGateway", Tags=tags),
        "GatewayOfNetwork": _resource(
            "AWS::EC2::VPCGatewayAttachment",
            VpcId={"Ref": "Network"},
            InternetGatewayId={"Ref": "Gateway"},
        ),
        "Routes": _resource("AWS::EC2::RouteTable", VpcId={"Ref": "Network"}, Tags=tags),
        "RouteOut": {
            **_resource(
                "AWS::EC2::Route",
                RouteTableId={"Ref": "Routes"},
                DestinationCidrBlock="0.0.0.0/0",
                GatewayId={"Ref": "Gateway"},
            ),
            "DependsOn": "GatewayOfNetwork",
        },
    }
    for place, (subnet, block) in enumerate(zip(SUBNETS, _BLOCKS)):
        entries[subnet] = _resource(
            "AWS::EC2::Subnet",
            VpcId={"Ref": "Network"},
            CidrBlock=block,
            AvailabilityZone={"Fn::Select": [place, {"Fn::GetAZs": ""}]},
            MapPublicIpOnLaunch=True,
            Tags=tags,
        )
        entries[f"RoutesOf{subnet}"] = _resource(
            "AWS::EC2::SubnetRouteTableAssociation",
            SubnetId={"Ref": subnet},
            RouteTableId={"Ref": "Routes"},
        )
    return entries


def _groups(options: Options) -> Resources:
    inbound = {"CidrIp": options.inbound_cidr}
    entries: Resources = {
        "MasterGroup": _group(
            options,
            "the master",
            [
                _rule(port, inbound)
                for port in (options.port, services_port(options.port), SSH_PORT)
            ],
        ),
        "AgentGroup": _group(options, "agents", [_rule(SSH_PORT, inbound)]),
        "MasterFromAgents": _between("MasterGroup", options.port, "AgentGroup"),
        # Ports of tasks, which the master forwards to, and of ranks, which talk to each other.
        "AgentsFromMaster": _between("AgentGroup", None, "MasterGroup"),
        "AgentsFromAgents": _between("AgentGroup", None, "AgentGroup"),
    }
    if options.has_rds:
        entries["DatabaseGroup"] = _group(options, "the database", [])
        entries["DatabaseFromMaster"] = _between("DatabaseGroup", DATABASE_PORT, "MasterGroup")
    if options.has_efs:
        entries["FilesGroup"] = _group(options, "shared files", [])
        entries["FilesFromAgents"] = _between("FilesGroup", NFS_PORT, "AgentGroup")
    return entries


def _group(options: Options, whose: str, inbound: List[Any]) -> Any:
    network = {"VpcId": {"Ref": "Network"}} if options.has_own_network else {}
    return _resource(
        "AWS::EC2::SecurityGroup",
        GroupDescription=f"determined cluster {options.cluster_id}: {whose}",
        SecurityGroupIngress=inbound,
        **network,
    )


def _rule(port: int, who: Dict[str, Any]) -> Dict[str, Any]:
    return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **who}


def _between(group: str, port: int | None, source: str) -> Any:
    ports = {"FromPort": 0 if port is None else port, "ToPort": 65535 if port is None else port}
    return _resource(
        "AWS::EC2::SecurityGroupIngress",
        GroupId={"Fn::GetAtt": [group, "GroupId"]},
        IpProtocol="tcp",
        SourceSecurityGroupId={"Fn::GetAtt": [source, "GroupId"]},
        **ports,
    )


def _resource(kind: str, **properties: Any) -> Dict[str, Any]:
    return {"Type": kind, "Properties": properties}
