"""Settings of one provider type alone, as the list of pools shows them."""

from __future__ import annotations

from msgspec.structs import replace

from determined_master.api.shapes import struct_of
from determined_master.settings.providers.aws import AwsProvider
from determined_master.settings.providers.gcp import GcpProvider
from determined_master.settings.providers.provider import Provider
from determined_wire.rest.types.resourcepool import (
    AwsCustomTag,
    ResourcePoolAwsDetail,
    ResourcePoolDetail,
    ResourcePoolGcpDetail,
)


def machine_details(settings: Provider, details: ResourcePoolDetail) -> ResourcePoolDetail:
    """A pool's details, with the settings of AWS or GCP."""
    match settings:
        case AwsProvider():
            return replace(details, aws=_aws(settings))
        case GcpProvider():
            return replace(details, gcp=_gcp(settings))
        case _:
            return details


def _aws(aws: AwsProvider) -> ResourcePoolAwsDetail:
    net = aws.network_interface
    return struct_of(
        ResourcePoolAwsDetail,
        aws,
        public_ip=net.public_ip,
        subnet_id=next(iter(aws.subnets), ""),
        security_group_id=net.security_group_id,
        instance_type=aws.types[0],
        spot_enabled=aws.spot != "never",
        custom_tags=[AwsCustomTag(key=tag.key, value=tag.value) for tag in aws.custom_tags],
    )


def _gcp(gcp: GcpProvider) -> ResourcePoolGcpDetail:
    net, kind, account = gcp.network_interface, gcp.types[0], gcp.service_account
    return struct_of(
        ResourcePoolGcpDetail,
        gcp,
        zone=next(iter(gcp.zones), gcp.zone),
        network=net.network,
        subnetwork=net.subnetwork,
        external_ip=net.external_ip,
        service_account_email=account.email,
        service_account_scopes=account.scopes,
        machine_type=kind.machine_type,
        gpu_type=kind.gpu_type,
        gpu_num=kind.gpu_num,
        preemptible=gcp.spot_use != "never",
        operation_timeout_period=gcp.operation_timeout_period_s,
    )
