"""The Service and the TCPRoute of each port of a pod."""

from __future__ import annotations

from tests.backends.kubernetes.objects import CONTAINER, built, options, order
from tests.backends.kubernetes.test_manifest import variables

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.objects import build
from determined_master.backends.kubernetes.manifest.pod import Extras
from determined_master.backends.kubernetes.options import Gateway
from determined_master.domain.pods.gateway_ports import PortRange


def test_a_pod_behind_a_gateway_says_so_and_has_a_service_and_a_route_for_each_port() -> None:
    gateway = Gateway(name="g", namespace="edge", host="10.0.0.9", ports=PortRange(40000, 40009))
    extras = Extras("print()", "", gateway_ports={8888: 40001, 6006: 40000})
    made = build(order(1), options(gateway=gateway), extras)
    assert variables(made)["DET_PROXY_THROUGH_GATEWAY"] == "true"
    assert made.pod["metadata"]["annotations"][names.GATEWAY_PORTS] == "6006=40000,8888=40001"
    assert [one["kind"] for one in made.routes] == ["Service", "TCPRoute"] * 2
    service, route = made.routes[2:]
    assert len(service["metadata"]["name"]) <= 63
    assert service["metadata"]["name"].endswith("-1")
    assert service["spec"]["selector"][names.CONTAINER_ID] == CONTAINER
    assert [port["targetPort"] for port in service["spec"]["ports"]] == [8888]
    [parent] = route["spec"]["parentRefs"]
    assert (parent["namespace"], parent["name"]) == ("edge", "g")
    assert parent["sectionName"] == "det-40001"
    backend = {"name": service["metadata"]["name"], "port": 8888}
    assert route["spec"]["rules"] == [{"backendRefs": [backend]}]
    assert built().routes == ()
