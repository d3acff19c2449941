"""Facts about the master's own machine, from the cloud's metadata service.

Every call blocks. Outside the cloud each query fails after at most three seconds.
"""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Mapping

from determined_master.backends.cloud.start_script import Identity

TIMEOUT_S = 1.0
TRIES = 3
"""The answers go into machines' names, so one failure must not look like another cloud."""
_NOTHING: Mapping[str, str] = {}
# The service is on the machine's own network, so it is never reached through a proxy.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
ON_EC2 = "http://169.254.169.254"
ON_COMPUTE_ENGINE = "http://metadata.google.internal"
AWS_ALIASES = ("local-ipv4", "public-ipv4", "local-hostname", "public-hostname")
GCP_ALIASES = ("internal-ip", "external-ip")
_CURL = "curl --fail --silent --show-error --noproxy '*' --retry 5 --max-time 10"


class AwsMetadata:
    """The service of EC2, version 2: every query sends a token."""

    def __init__(self, url: str = "") -> None:
        """`url` is AWS_EC2_METADATA_SERVICE_ENDPOINT by default, else its address on EC2."""
        address = url or os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "")
        self._url = (address or ON_EC2).rstrip("/")
        self._of_machines = (url or ON_EC2).rstrip("/")  # the variable applies only to the master

    def find(self, item: str) -> str:
        """The value of an item such as `placement/region`; empty if unavailable."""
        age = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        token = _ask(f"{self._url}/latest/api/token", age, method="PUT")
        if not token:
            return ""
        headers = {"X-aws-ec2-metadata-token": token}
        return _ask(f"{self._url}/latest/meta-data/{item}", headers)

    def find_host(self, alias: str) -> str:
        """The host of one of `AWS_ALIASES`; empty if unavailable."""
        return self.find(alias)

    def identity(self) -> Identity:
        """Commands that print the identity of an EC2 machine."""
        age = "X-aws-ec2-metadata-token-ttl-seconds: 300"
        token = f"$({_CURL} --request PUT --header '{age}' {self._of_machines}/latest/api/token)"
        header = f'--header "X-aws-ec2-metadata-token: {token}"'
        ask = f"{_CURL} {header} {self._of_machines}/latest/meta-data"
        return Identity(f"{ask}/instance-id", f"{ask}/local-ipv4", "aws")


class GcpMetadata:
    """The service of Compute Engine."""

    def __init__(self, url: str = "") -> None:
        """`url` is that of GCE_METADATA_HOST by default, else the address on Compute Engine."""
        host = os.environ.get("GCE_METADATA_HOST", "")
        address = url or (f"http://{host}" if host else ON_COMPUTE_ENGINE)
        self._url = address.rstrip("/") + "/computeMetadata/v1"
        self._of_machines = (url or ON_COMPUTE_ENGINE).rstrip("/") + "/computeMetadata/v1"

    def find(self, item: str) -> str:
        """The value of an item such as `instance/name`; empty if unavailable."""
        return _ask(f"{self._url}/{item}", {"Metadata-Flavor": "Google"})

    def find_host(self, alias: str) -> str:
        """The host of one of `GCP_ALIASES`; empty if unavailable."""
        outer = "/access-configs/0/external-ip" if alias == "external-ip" else "/ip"
        return self.find(f"instance/network-interfaces/0{outer}")

    def identity(self) -> Identity:
        """Commands that print the identity of a Compute Engine machine."""
        ask = f"{_CURL} --header 'Metadata-Flavor: Google' {self._of_machines}/instance"
        return Identity(f"{ask}/name", f"{ask}/network-interfaces/0/ip", "gcp")


def _ask(url: str, headers: Mapping[str, str] = _NOTHING, method: str = "GET") -> str:
    request = urllib.request.Request(url, headers=dict(headers), method=method)
    for _ in range(TRIES):
        try:
            with _direct.open(request, timeout=TIMEOUT_S) as answer:
                return str(answer.read(65536).decode()).strip()
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 and error.code != 429:
                return ""
        except (OSError, ValueError) as error:
            if not isinstance(getattr(error, "reason", error), TimeoutError):
                return ""  # a missing service does not appear later
    return ""
