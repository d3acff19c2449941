"""Checks of an account, before anything is paid for.

Each check only reads, or asks with `DryRun` or IAM's simulator. Quotas that cannot be read are not
checked.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional

from determined_deploy.aws import account, machine_rules, permissions
from determined_deploy.aws.account import Account
from determined_deploy.aws.machine_rules import Images
from determined_deploy.aws.options import Options


class Preflight:
    """Checks of one account. `problems` has what stands in the way, each with its remedy."""

    def __init__(self, options: Options, access: Account) -> None:
        self._options = options
        self._access = access
        self._ec2 = access.client("ec2")
        self._types: Dict[str, Any] = {}
        """What AWS says of each instance type."""
        self.problems: List[str] = []

    def run(self) -> Optional[Images]:
        """Check everything; the images to boot, unless something stands in the way."""
        self._check(self._key_pair)
        self._check(self._network)
        options = self._options
        markets = {
            options.master_instance_type: False,
            options.aux_instance_type: False,
            options.compute_instance_type: options.spot,
        }
        self._check(functools.partial(self._describe, list(markets)))
        for each, is_spot in markets.items():
            self._check(functools.partial(self._instance_type, each))
            quota = functools.partial(self._quota, each, is_spot)
            self._check(quota, must_be_read=False)
        images = self._check(self._images)
        if images is not None:
            for call, values in self._calls(images).items():
                self._check(functools.partial(self._may_call, call, values))
        self.problems += permissions.problems(self._options, self._access)
        return None if self.problems else images

    def _check(self, check: Callable[[], Any], must_be_read: bool = True) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return check()
        except ClientError as error:
            if must_be_read:
                self.problems.append(account.in_words(error))
        except BotoCoreError as error:
            if must_be_read:
                self.problems.append(f"AWS: {error}")
        return None

    def _key_pair(self) -> None:
        from botocore.exceptions import ClientError

        name = self._options.keypair
        try:
            self._ec2.describe_key_pairs(KeyNames=[name])
        except ClientError as error:
            if account.code_of(error) != "InvalidKeyPair.NotFound":
                raise
            self.problems.append(
                f"--keypair {name}: {self._access.region} has no key pair of that name; create "
                f"it: aws ec2 create-key-pair --region {self._access.region} --key-name {name}"
            )

    def _network(self) -> None:
        options = self._options
        if options.has_own_network:
            return
        answer = self._ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])
        if not answer["Vpcs"]:
            self.problems.append(
                f"{self._access.region} has no default VPC: use --deployment-type vpc, or "
                "create it: aws ec2 create-default-vpc"
            )
            return
        subnet, network = options.agent_subnet_id, answer["Vpcs"][0]["VpcId"]
        if subnet:
            ids = [{"Name": "subnet-id", "Values": [subnet]}]
            places = [s["VpcId"] for s in self._ec2.describe_subnets(Filters=ids)["Subnets"]]
            if places != [network]:
                self.problems.append(
                    f"--agent-subnet-id {subnet} is no subnet of the default VPC {network}"
                )

    def _instance_type(self, name: str) -> None:
        filters = [{"Name": "instance-type", "Values": [name]}]
        answer = self._ec2.describe_instance_type_offerings(LocationType="region", Filters=filters)
        if not answer["InstanceTypeOfferings"]:
            self.problems.append(
                f"{self._access.region} does not offer the instance type {name}: choose another "
                "type or --region"
            )

    def _describe(self, names: List[str]) -> None:
        filters = [{"Name": "instance-type", "Values": names}]
        pages = self._ec2.get_paginator("describe_instance_types").paginate(Filters=filters)
        self._types = {one["InstanceType"]: one for page in pages for one in page["InstanceTypes"]}

    def _gpus(self, name: str) -> int:
        """The GPUs that tasks can use; an unlisted type is reported elsewhere."""
        listed = self._types.get(name, {}).get("GpuInfo", {}).get("Gpus", ())
        # Of a part of a GPU, as g6f has one, the count is 0.
        return sum(
            one.get("LogicalGpuCount") or one["Count"]
            for one in listed
            if one.get("Manufacturer") == "NVIDIA"
        )

    def _quota(self, name: str, is_spot: bool) -> None:
        code = machine_rules.quota_of(name, is_spot=is_spot)
        if code is None:
            return
        quotas = self._access.client("service-quotas")
        quota = quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"]
        vcpus = self._types.get(name, {}).get("VCpuInfo", {}).get("DefaultVCpus", 1)
        if quota["Value"] < vcpus:
            self.problems.append(
                f"the quota {quota['QuotaName']!r} ({code}) is {quota['Value']:g} vCPUs in "
                f"{self._access.region}, and a {name} has {vcpus}: request an increase in the "
                "console (Service Quotas)"
            )

    def _images(self) -> Optional[Images]:
        options = self._options
        kinds = (options.master_instance_type, options.aux_instance_type)
        master, aux = (
            self._image(machine_rules.image_of(kind, with_driver=False)) for kind in kinds
        )
        kind = options.compute_instance_type
        aux_gpus, gpus = self._gpus(options.aux_instance_type), self._gpus(kind)
        if options.agent_image:
            compute = self._own_image(options.agent_image, kind)
        else:
            compute = self._image(machine_rules.image_of(kind, with_driver=gpus > 0))
        if not (master and aux and compute):
            return None
        return Images(master, aux, compute, aux_gpus, gpus)

    def _image(self, image: machine_rules.ImageName) -> Optional[str]:
        filters = [
            {"Name": "name", "Values": [image.name]},
            {"Name": "state", "Values": ["available"]},
        ]
        images = self._ec2.describe_images(Owners=[image.owner], Filters=filters)["Images"]
        if not images:
            problem = (
                f"{self._access.region} has no machine image {image.name!r} of {image.owner}: use "
                "another --region"
            )
            if problem not in self.problems:
                self.problems.append(problem)
            return None
        return str(max(images, key=lambda image: str(image["CreationDate"]))["ImageId"])

    def _own_image(self, image: str, kind: str) -> Optional[str]:
        """The image of `--agent-image`, if it is there and boots on the instance type."""
        filters = [{"Name": "image-id", "Values": [image]}]
        images = self._ec2.describe_images(Filters=filters)["Images"]
        needed = machine_rules.architecture_of(kind)
        if not images:
            self.problems.append(
                f"--agent-image {image}: {self._access.region} has no such machine image, or does "
                "not show it to this account"
            )
        elif images[0].get("Architecture", needed) != needed:
            self.problems.append(
                f"--agent-image {image} is for {images[0]['Architecture']}, and "
                f"--compute-agent-instance-type {kind} has processors of {needed}: give an image "
                f"for {needed}, or another type"
            )
        else:
            return image
        return None

    def _calls(self, images: Images) -> Dict[str, Dict[str, Any]]:
        """Calls of EC2 that the stack makes with these credentials and that take `DryRun`."""
        name = f"determined-{self._options.cluster_id}"
        launch = {
            "ImageId": images.master,
            "InstanceType": self._options.master_instance_type,
            "MinCount": 1,
            "MaxCount": 1,
        }
        calls: Dict[str, Dict[str, Any]] = {
            "run_instances": launch,
            "allocate_address": {"Domain": "vpc"},
        }
        if self._options.has_own_network:
            calls["create_internet_gateway"] = {}
        else:
            calls["create_security_group"] = {"GroupName": name, "Description": name}
        return calls

    def _may_call(self, call: str, values: Dict[str, Any]) -> None:
        from botocore.exceptions import ClientError

        try:
            getattr(self._ec2, call)(DryRun=True, **values)
        except ClientError as error:
            if account.code_of(error) != "DryRunOperation":
                raise
