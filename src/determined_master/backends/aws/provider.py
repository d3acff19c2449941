"""Machines of AWS, spot or not: EC2 instances of one pool, identified by their tags."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from determined_master import clock
from determined_master.backends.aws import requests
from determined_master.backends.aws.ec2 import (
    REFUSALS,
    ROOM,
    Ec2,
    Ec2Refused,
    launching,
    refusals_are,
)
from determined_master.backends.aws.fleets import Fleets
from determined_master.backends.aws.requests import Ec2Terms
from determined_master.backends.cloud.metadata import AWS_ALIASES, AwsMetadata
from determined_master.backends.cloud.packed_script import packed
from determined_master.backends.cloud.pool_offers import PoolOffers
from determined_master.backends.cloud.site import boot_of, master_address, resolve_host
from determined_master.backends.cloud.start_script import start_script
from determined_master.backends.cloud.threads import Threads
from determined_master.domain.machines.offers import OfferReport
from determined_master.domain.machines.scaling import Machine, MachineType
from determined_master.ports.machines import LaunchFailed, MachineSite, ProviderFailed
from determined_master.settings.providers.aws import AwsProvider

log = logging.getLogger(__name__)
MakeClient = Callable[[str], Ec2]


class Ec2Connection(NamedTuple):
    ec2: Ec2
    terms: Ec2Terms


class AwsMachines:
    """Implements `ports.MachineProvider`."""

    def __init__(
        self,
        aws: AwsProvider,
        site: MachineSite,
        *,
        metadata: AwsMetadata | None = None,
        make_client: MakeClient = Ec2,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        """
        Args:
            aws: the pool's settings.
            site: facts of the master for the machines.
            metadata: the metadata service of the master's own machine.
            make_client: calls of EC2 in a region.
            now: the clock.
        """
        self._aws = aws
        self._site = site
        self._metadata = metadata or AwsMetadata()
        self._make_client = make_client
        self._now = now
        self._offers = PoolOffers(aws.offers, aws.max_price, now)
        self._fleets = Fleets(self._offers)
        self._threads = Threads("AWS")
        self._opened: Ec2Connection | None = None
        self._type = requests.machine_type(aws, aws.region)

    @property
    def type(self) -> MachineType:
        return self._type

    async def open(self) -> None:
        """Find out region, tag, the master's address and the image's disk."""
        before, self._opened = self._opened, await self._threads.run(self._find_out)
        if before is not None:
            before.ec2.close()
        self._type = requests.machine_type(self._aws, self._opened.terms.region)

    async def list_machines(self) -> Sequence[Machine]:
        """Instances that run, start or were stopped."""
        return await self._threads.run(self._list)

    def offers(self) -> OfferReport:
        return self._offers.report()

    async def launch(
        self, count: int, token: str, *, is_repeated: bool = False
    ) -> Sequence[Machine]:
        """Start up to `count` instances by one request, or by one for each market.

        AWS knows a repeated token, so that `is_repeated` makes no difference.
        """
        return await self._threads.run(lambda: self._launch(count, token))

    async def terminate(self, machine_ids: Sequence[str]) -> None:
        await self._threads.run(lambda: self._terminate(machine_ids))

    async def close(self) -> None:
        """Release threads and connections."""
        await self._threads.close()
        if self._opened is not None:
            self._opened.ec2.close()
            self._opened = None

    def _ready(self) -> Ec2Connection:
        if self._opened is None:
            raise ProviderFailed("AWS: the provider of machines is not opened")
        return self._opened

    def _list(self) -> list[Machine]:
        ec2, terms = self._ready()
        states = requests.LISTED_STATES
        with refusals_are():
            found = ec2.instances(requests.own_filters(terms, instance_state_name=states))
        return [requests.machine_of(instance, self._aws) for instance in found]

    def _launch(self, count: int, token: str) -> list[Machine]:
        ec2, terms = self._ready()
        filters = [*requests.own_filters(terms), requests.launch_filter(token)]
        with refusals_are():
            # Its ClientToken would do, unless settings have changed in the meantime.
            before = ec2.instances(filters)
        if before:
            return [requests.machine_of(instance, self._aws) for instance in before]
        if not self._offers.is_single:
            return self._fleets.launch(ec2, terms, count, token, self._now())
        return self._launch_alike(count, token)

    def _launch_alike(self, count: int, token: str) -> list[Machine]:
        """Start instances of one type in one place: this needs no launch template."""
        ec2, terms = self._ready()
        [offer] = self._offers.begin()
        with launching():
            try:
                request = requests.run_instances(terms, offer, count, token)
                answer = ec2.call("run_instances", **request)
            except Ec2Refused as error:
                self._offers.refused(offer, REFUSALS.get(error.code))
                if error.code == ROOM:
                    log.warning("AWS has no room for machines", extra={"pool": terms.pool})
                raise
        machines = [requests.machine_of(one, self._aws) for one in answer["Instances"]]
        self._offers.started(offer, len(machines))
        return machines

    def _terminate(self, machine_ids: Sequence[str]) -> None:
        with refusals_are():
            self._ready().ec2.end_instances(machine_ids)

    def _find_out(self) -> Ec2Connection:
        aws, metadata = self._aws, self._metadata
        before = self._opened
        region = (
            aws.region
            or metadata.find("placement/region")
            or os.environ.get("AWS_DEFAULT_REGION", "")
        )
        if not region:
            raise ProviderFailed(
                "AWS: the region is not known: the master does not run on EC2 and "
                "AWS_DEFAULT_REGION is not set; set provider.region"
            )
        boot = boot_of(aws, self._site)
        host = resolve_host(boot.master_host, AWS_ALIASES, metadata.find_host, "AWS")
        boot = replace(
            boot,
            master_host=host,
            identity=metadata.identity(),
            slot_type=requests.slot_type(aws),
            log_options=requests.log_options(aws, region),
            journal=requests.journal_target(aws, region),
        )
        script = packed(start_script(boot))
        if (size := len(script.encode())) > requests.MAX_USER_DATA_BYTES:
            raise LaunchFailed(
                f"AWS: the start script of machines has {size} bytes packed, and AWS takes "
                f"{requests.MAX_USER_DATA_BYTES}: shorten provider.startup_script, "
                "container_startup_script or agent_config_file_contents, or have them fetch more"
            )
        ec2 = self._make_client(region)
        try:
            device = self._root_device(ec2)
        except ProviderFailed:
            ec2.close()
            raise
        terms = Ec2Terms(
            aws=aws,
            pool=self._site.pool,
            region=region,
            # The earlier name stays, even if the service now has another one.
            tag_value=before.terms.tag_value if before is not None else self._own_tag_value(),
            master_address=master_address(boot),
            script=script,
            root_device=device,
        )
        return Ec2Connection(ec2, terms)

    def _own_tag_value(self) -> str:
        found = self._aws.tag_value or self._metadata.find("instance-id")
        return found or requests.DEFAULT_TAG_VALUE

    def _root_device(self, ec2: Ec2) -> str:
        """The image's name for its disk: images differ, and a wrong name adds a second disk."""
        with refusals_are():
            try:
                answer = ec2.call("describe_images", ImageIds=[self._aws.image_id])
            except Ec2Refused as error:
                if error.code != "UnauthorizedOperation":
                    raise
                log.warning(
                    "AWS does not allow the master to read its image; assuming the disk %s",
                    requests.DEFAULT_ROOT_DEVICE,
                )
                return requests.DEFAULT_ROOT_DEVICE
        images = answer["Images"]
        if not images:
            raise ProviderFailed(
                f"AWS: there is no image {self._aws.image_id} for the master in this region: set "
                "provider.image_id"
            )
        if problem := requests.image_problem(self._aws, images[0]):
            raise ProviderFailed(problem)
        return str(images[0].get("RootDeviceName") or requests.DEFAULT_ROOT_DEVICE)
