"""Settings of machines on demand: the options that `resource_pools[].provider` always has.

Each type of provider has a struct of its own, a subclass of `Provider` with its options, and is
named in `settings.providers.kinds.PROVIDERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.machines.cost import allowed, highest_price, machines_within
from determined_master.domain.machines.offers import Offer, OfferOrder, SpotUse
from determined_master.settings.providers.costs import check_costs
from determined_master.settings.providers.offers import SpotWord
from determined_master.settings.reader import Seconds

Secret = Meta(extra={"is_secret": True})


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """Options of every provider type: number of machines, time limits, and the agent."""

    type: Annotated[str, Meta(description="Who provides the machines: aws or gcp.")]
    master_url: Annotated[
        str,
        Meta(
            description=(
                "Where agents reach the master: SCHEME://HOST:PORT; the host may be an alias of "
                "the provider. Default: the master's own scheme, address and port."
            )
        ),
    ] = ""
    master_cert_name: Annotated[
        str, Meta(description="Name in the master's certificate, if it differs from the host.")
    ] = ""
    startup_script: Annotated[
        str, Secret, Meta(description="Script that runs as root on each machine, at its start.")
    ] = ""
    container_startup_script: Annotated[
        str,
        Secret,
        Meta(
            description="Script that runs before the agent, in its container or, without "
            "agent_docker_image, on the machine: by its shebang, else by bash."
        ),
    ] = ""
    agent_docker_image: Annotated[
        str,
        Meta(
            description="Image of the agent; `deploy/build-image agent` builds one. Empty: the "
            "agent is installed on the machine, from the master's wheel."
        ),
    ] = ""
    agent_docker_network: Annotated[
        str,
        Meta(description="Docker's network of the agent's container; needs agent_docker_image."),
    ] = "default"
    agent_docker_runtime: Annotated[
        str, Meta(description="Docker's runtime for it; needs agent_docker_image.")
    ] = "runc"
    agent_reconnect_attempts: Annotated[
        int, Meta(ge=0, description="How often an agent tries to reconnect to the master.")
    ] = 5
    agent_reconnect_backoff: Annotated[
        int, Meta(ge=0, description="Seconds between two of these attempts.")
    ] = 5
    agent_config_file_contents: Annotated[
        dict[str, Any] | None,
        Secret,
        Meta(description="Options of the agents, in the form of their file."),
    ] = None
    agent_fluent_image: Annotated[
        str, Meta(description="Has no effect: agents send logs themselves.")
    ] = ""
    max_idle_agent_period_s: Annotated[
        Seconds, Meta(description="How long a machine may be idle before it is ended.")
    ] = msgspec.field(default=1200.0, name="max_idle_agent_period")
    max_agent_starting_period_s: Annotated[
        Seconds, Meta(description="How long a machine may take until its agent has joined.")
    ] = msgspec.field(default=1200.0, name="max_agent_starting_period")
    min_instances: Annotated[int, Meta(ge=0, description="Minimum number of machines.")] = 0
    max_instances: Annotated[int, Meta(ge=1, description="Maximum number of machines.")] = 5
    price_per_hour: Annotated[
        float | None,
        Meta(
            description="Dollars an hour of a machine, where they differ from the list price that "
            "the master knows, or it knows none."
        ),
    ] = None
    spot: Annotated[
        Annotated[SpotUse, Meta(extra={"kind": SpotWord()})],
        Meta(
            description="Whether machines are spot instances, which the cloud may reclaim: never; "
            "prefer, with on-demand machines where there are none; only. true: only."
        ),
    ] = "never"
    offer_order: Annotated[
        OfferOrder,
        Meta(
            description="Which machine type and place is tried first: as they are listed, or the "
            "cheapest by the list price."
        ),
    ] = "listed"
    max_price: Annotated[
        float | None,
        Meta(
            description="Maximum dollars an hour of a machine. Types above it, and types "
            "without a known price, are not tried."
        ),
    ] = None
    max_cost_per_hour: Annotated[
        float | None,
        Meta(
            description="Budget of the pool in dollars an hour. It lowers max_instances to the "
            "machines that it pays for at the price of the dearest type that may be started."
        ),
    ] = None
    prices: Annotated[
        dict[str, Any],
        Meta(
            description="Dollars an hour by machine type, in place of the list prices: a number, "
            "or an object of on_demand and spot. With GPUs that are attached."
        ),
    ] = msgspec.field(default_factory=dict)
    prices_file: Annotated[
        str,
        Meta(
            description="File with a map `prices`, for types that neither prices nor "
            "price_per_hour names; `det deploy aws prices` writes one. It is read at the start."
        ),
    ] = ""
    launch_error_timeout_s: Annotated[
        Seconds,
        Meta(
            description=(
                "How long a failure to start machines counts. Until then no launch is tried, and "
                "requests that need more machines are refused. 0: failures never count."
            )
        ),
    ] = msgspec.field(default=0.0, name="launch_error_timeout")
    launch_error_retries: Annotated[
        int, Meta(ge=0, description="Number of failures in a row that do not count yet.")
    ] = 0

    def given_price(self, machine_type: str, *, is_spot: bool) -> float | None:
        """The price of the settings: of the type, else of all; None without one."""
        price = self.prices.get(machine_type)
        if isinstance(price, Mapping):
            price = price.get("spot" if is_spot else "on_demand")
        return self.price_per_hour if price is None else float(price)

    @property
    def offers(self) -> tuple[Offer, ...]:
        """Each machine type in each place on each market of the settings, in order."""
        return ()

    @property
    def highest_price(self) -> float | None:
        """The most that one machine costs by the known prices; None if unknown."""
        if not self.offers:
            return self.price_per_hour
        return highest_price(allowed(self.offers, self.max_price))

    @property
    def max_machines(self) -> int:
        """`max_instances`, or as many as `max_cost_per_hour` pays for."""
        price = self.highest_price
        if self.max_cost_per_hour is None or price is None:
            return self.max_instances
        return min(self.max_instances, machines_within(self.max_cost_per_hour, price))


_OF_CONTAINER = {"agent_docker_network": "default", "agent_docker_runtime": "runc"}
"""Options of the agent's container, with their defaults."""
_NEEDED = {
    "agent_docker_network": "network of Docker's that agents are in",
    "agent_docker_runtime": "runtime of Docker's that runs agents",
}
"""Without these no agent would start on any machine."""


class MasterUrl(NamedTuple):
    """The parts of `master_url`; empty and 0 if omitted."""

    scheme: str
    host: str
    port: int


def split_master_url(url: str) -> MasterUrl:
    """The parts of the option `master_url`.

    Raises:
        ValueError: it is no such address; the text names the fault.
    """
    if not url:
        return MasterUrl("", "", 0)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError(f'"{url}" must begin with http:// or https://')
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f'"{url}" must have nothing after the port: agents know the paths')
    if parts.username is not None:
        raise ValueError(f'"{url}" must not have a user: agents join with a token')
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError(f'"{url}" must have a number from 1 to 65535 as its port')
    return MasterUrl(parts.scheme, parts.hostname or "", port or 0)


def is_loopback(host: str) -> bool:
    """Whether a host is the computer that uses the name."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") in ("localhost", "localhost.localdomain")


def check_container_options(
    provider: Provider, at: str, report: ProblemReport, options: Mapping[str, str] = _OF_CONTAINER
) -> None:
    """Report options of the agent's container where a pool names no image for it."""
    for name, default in options.items():
        is_set = getattr(provider, name) not in ("", default)
        if is_set and not provider.agent_docker_image:
            text = (
                "is an option of the agent's container: set agent_docker_image too, or remove this"
            )
            report.problem(f"{at}.{name}", text)


def check_common(provider: Provider, at: str, report: ProblemReport) -> None:
    """Report contradictions between the options that every type has.

    Args:
        provider: as given.
        at: its path in the settings.
        report: takes the problems.
    """
    check_container_options(provider, at, report)
    low, high = provider.min_instances, provider.max_instances
    if low > high:
        text = f"is {low}, more than max_instances ({high}): lower it, or raise max_instances"
        report.problem(f"{at}.min_instances", text)
    for name in ("max_idle_agent_period", "max_agent_starting_period"):
        if getattr(provider, f"{name}_s") <= 0:
            report.problem(f"{at}.{name}", 'must be longer than 0, such as "20m"')
    check_costs(provider, at, report)
    for name, what in _NEEDED.items():
        if not getattr(provider, name):
            text = f"is empty: name the {what}, or remove the option"
            report.problem(f"{at}.{name}", text)
    if provider.agent_fluent_image:
        text = "has no effect: agents send logs themselves; remove it"
        report.warn(f"{at}.agent_fluent_image", text)
    if provider.launch_error_retries and not provider.launch_error_timeout_s:
        text = "has no effect without launch_error_timeout: failures never count"
        report.warn(f"{at}.launch_error_retries", text)
    try:
        url = split_master_url(provider.master_url)
    except ValueError as error:
        report.problem(f"{at}.master_url", str(error))
        return
    if is_loopback(url.host):
        text = (
            f"names this computer alone ({url.host}), and machines will not reach the master "
            "there: give an address that they reach, or leave it out in the same cloud"
        )
        report.warn(f"{at}.master_url", text)
