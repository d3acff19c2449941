"""Why a pod gets no port of a Gateway now, and the remedy."""

from __future__ import annotations

from determined_master.backends.kubernetes.client import KubernetesApi, KubernetesRefused
from determined_master.backends.kubernetes.manifest.gateway import ROUTES
from determined_master.backends.kubernetes.options import Gateway
from determined_master.domain.pods.admission import short
from determined_master.domain.pods.gateway_shares import TIMES_FREE, PortUse, holders_text
from determined_master.domain.pods.rejections import is_over_quota

INSTALL = "install the Gateway API with its experimental channel, which has TCPRoute v1alpha2"

_FEWER = "end a task with a service"


class GatewayWaits(Exception):
    """A pod cannot get its ports now; the text has the reason and the remedy."""


def used_up(gateway: Gateway, use: PortUse) -> GatewayWaits:
    """The range has too few free ports."""
    return GatewayWaits(
        f"{_waits_for(gateway)}: all ports from {gateway.ports.text} are taken{_by(use)}; "
        f"{_FEWER}, or let an admin widen internal_task_gateway.gateway_port_range"
    )


def over_share(gateway: Gateway, use: PortUse, user: str, count: int) -> GatewayWaits:
    """A user would hold more ports than one user may."""
    held = use.by_user.get(user, 0)
    return GatewayWaits(
        f"{_waits_for(gateway)}: {user or 'the user'} holds {held} and needs {count} more, "
        f"{use.free} are free, and a user may hold at most {TIMES_FREE} times as many as are free"
        f"{_by(use)}; {_FEWER}, or let an admin widen internal_task_gateway.gateway_port_range "
        "or allow more listeners"
    )


def _waits_for(gateway: Gateway) -> str:
    return f"waits for a port of Gateway {gateway.namespace}/{gateway.name}"


def _by(use: PortUse | None) -> str:
    text = "" if use is None else holders_text(use)
    return f" (held by: {text})" if text else ""


def refused(
    gateway: Gateway, error: KubernetesRefused, use: PortUse | None = None
) -> GatewayWaits:
    """The Gateway cannot be read or changed."""
    where = f"Gateway {gateway.namespace}/{gateway.name}"
    said = short(str(error))
    if error.status == 404:
        text = (
            f"waits for {where}, which does not exist: create it, name another one in "
            f"internal_task_gateway, or {INSTALL} ({said})"
        )
    elif error.status == 403:
        text = (
            f"waits for {where}: grant the master's account the verbs get and update on gateways "
            f"in namespace {gateway.namespace} ({said})"
        )
    else:
        text = (
            f"waits for a port of {where}, which takes no further listener{_by(use)}: {_FEWER}, "
            f"or let an admin allow more listeners ({said})"
        )
    return GatewayWaits(text)


def not_exposed(kind: str, namespace: str, error: KubernetesRefused) -> Exception:
    """A Service or a TCPRoute is not created: the error to raise."""
    said = short(str(error))
    if error.status == 404:
        return GatewayWaits(f"waits for its {kind} in namespace {namespace}: {INSTALL} ({said})")
    if error.status == 403 and not is_over_quota(error.status, str(error)):
        plural = "services" if kind == "Service" else "tcproutes"
        return GatewayWaits(
            f"waits for its {kind}: grant the master's account the verbs create and delete on "
            f"{plural} in namespace {namespace} ({said})"
        )
    return error


async def check_served(api: KubernetesApi, gateway: Gateway, namespace: str) -> None:
    """Check that the cluster has TCPRoutes.

    Raises:
        GatewayWaits: it has not.
        Unreachable: the API server does not answer.
    """
    try:
        served = (await api.call("GET", ROUTES)).get("resources") or ()
    except KubernetesRefused as error:
        if error.status == 403:
            return  # the account may not ask; the creation of the route shows it
        served = ()
    if not any(one.get("name") == "tcproutes" for one in served):
        raise GatewayWaits(
            f"waits for Gateway {gateway.namespace}/{gateway.name}: the cluster has no TCPRoutes "
            f"for namespace {namespace}: {INSTALL}"
        )
