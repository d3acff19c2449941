"""Checks of an account, before anything is paid for.

Each check only reads, or asks with `DryRun` or IAM's simulator. Quotas that cannot be read are not
checked.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional

from determined.cli.deploy.aws import account, permissions
from determined.cli.deploy.aws.account import Account
from determined.cli.deploy.aws.options import Options
from determined.cli.deploy.aws.template import Images

UBUNTU = ("099720109477", "ubuntu/images/hvm-ssd*/ubuntu-noble-24.04-amd64-server-*")
"""Canonical's account, and the names of its images of Ubuntu 24.04."""
WITH_DRIVERS = ("amazon", "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04)*")
"""Amazon's images of Ubuntu with NVIDIA's driver, Docker and its toolkit."""
_GPU_FAMILIES = ("g", "p")
_QUOTAS = {"g": "L-DB2E81BA", "p": "L-417A185B"}
_STANDARD_QUOTA = "L-1216C47A"
"""Codes of EC2's quotas of running on-demand instances, in virtual CPUs."""


class Preflight:
    """Checks of one account. `problems` has what stands in the way, each with its remedy."""

    def __init__(self, options: Options, access: Account) -> None:
        self._options = options
        self._access = access
        self._ec2 = access.client("ec2")
        self.problems: List[str] = []

    def run(self) -> Optional[Images]:
        """Check everything; the images to boot, unless something stands in the way."""
        self._check(self._key_pair)
        self._check(self._network)
        types = [
            self._options.master_instance_type,
            self._options.aux_instance_type,
            self._options.compute_instance_type,
        ]
        for each in dict.fromkeys(types):
            self._check(functools.partial(self._instance_type, each))
            self._check(functools.partial(self._quota, each), must_be_read=False)
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
        found = self._ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])
        if not found["Vpcs"]:
            self.problems.append(
                f"{self._access.region} has no default VPC: use --deployment-type vpc, or "
                "create it: aws ec2 create-default-vpc"
            )
            return
        subnet, network = options.agent_subnet_id, found["Vpcs"][0]["VpcId"]
        if subnet:
            ids = [{"Name": "subnet-id", "Values": [subnet]}]
            places = [s["VpcId"] for s in self._ec2.describe_subnets(Filters=ids)["Subnets"]]
            if places != [network]:
                self.problems.append(
                    f"--agent-subnet-id {subnet} is no subnet of the default VPC {network}"
                )

    def _instance_type(self, name: str) -> None:
        wanted = [{"Name": "instance-type", "Values": [name]}]
        found = self._ec2.describe_instance_type_offerings(LocationType="region", Filters=wanted)
        if not found["InstanceTypeOfferings"]:
            self.problems.append(
                f"{self._access.region} does not offer the instance type {name}: choose another "
                "type or --region"
            )

    def _quota(self, name: str) -> None:
        family = name[0] if name[0] in _GPU_FAMILIES else ""
        code = _QUOTAS.get(family, _STANDARD_QUOTA)
        quotas = self._access.client("service-quotas")
        quota = quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"]
        if quota["Value"] == 0:
            self.problems.append(
                f"the quota {quota['QuotaName']!r} ({code}) is 0 in {self._access.region}, so no "
                f"{name} can start: request an increase in the console (Service Quotas)"
            )

    def _images(self) -> Optional[Images]:
        ubuntu = self._image(*UBUNTU)
        needs_drivers = self._options.compute_instance_type[0] in _GPU_FAMILIES
        drivers = self._image(*WITH_DRIVERS) if needs_drivers else ubuntu
        return Images(ubuntu, ubuntu, drivers) if ubuntu and drivers else None

    def _image(self, owner: str, name: str) -> Optional[str]:
        wanted = [
            {"Name": "name", "Values": [name]},
            {"Name": "architecture", "Values": ["x86_64"]},
            {"Name": "state", "Values": ["available"]},
        ]
        found = self._ec2.describe_images(Owners=[owner], Filters=wanted)["Images"]
        if not found:
            self.problems.append(
                f"{self._access.region} has no machine image {name!r} of {owner}: use another "
                "--region"
            )
            return None
        return str(max(found, key=lambda image: str(image["CreationDate"]))["ImageId"])

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
