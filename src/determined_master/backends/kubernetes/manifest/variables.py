"""The variables of a container: their values, and how the container gets them. PURE.

The pod names a variable's key in its Secret, or the container reads the variable from a file of
the Secret before its program starts. Kubernetes expands `$(NAME)` in neither. The API server
encodes a pod at each change of its state, and manages each variable of it as a field of its own: a
pod with all variables has 19 KB instead of 10, and costs the API server a sixth more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from determined_master.backends.kubernetes.manifest.files import RootFile
from determined_master.backends.kubernetes.manifest.volumes import HARNESS_DIR, needs_init
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.ports.orders import PodTerms, StartOrder
from determined_wire.agent_link import ContainerSpec

OURS = re.compile(r"DET_\w+|DTRAIN_SSH_PORT|INTER_TRAIN_PROCESS_COMM_PORT_\d|C10D_PORT")
"""Variables that only the harness and programs that it starts read.

Others can have an effect before that: on the container runtime (`NVIDIA_VISIBLE_DEVICES`), the
interpreter or the loader of libraries.
"""
WITH_SECRETS = frozenset({"DET_SESSION_TOKEN", "DET_USER_TOKEN", "DET_EXPERIMENT_CONFIG"})
"""Unlike variables of a process, the file can be read by other accounts of the container."""
FILLED_IN = frozenset({"DET_KUBERNETES_POD_IP"})
"""Kubernetes' value in the pod is the one that counts, also where the user gives another."""
_REFERENCE = re.compile(r"\$\((\w+)\)")


def split(
    variables: Mapping[str, str],
    spec: ContainerSpec,
    own_main: Mapping[str, Any],
    owned_by_root: list[RootFile],
) -> tuple[dict[str, str], dict[str, str]]:
    """The variables that the pod names, and those of the file.

    Args:
        variables: all of them.
        spec: of the container. With an init container, its program starts without preparation, so
            the pod names all.
        own_main: the container in the user's pod spec. The pod names what this refers to.
        owned_by_root: files of the Secret.
    """
    if needs_init(spec, own_main.get("volumeMounts") or [], owned_by_root):
        return dict(variables), {}
    plain_names = WITH_SECRETS | FILLED_IN | set(_REFERENCE.findall(json.dumps(own_main)))
    hidden = {n: v for n, v in variables.items() if OURS.fullmatch(n) and n not in plain_names}
    return {n: v for n, v in variables.items() if n not in hidden}, hidden


def environment(order: StartOrder, options: ClusterOptions) -> dict[str, str]:
    """The container's variables, except those that Kubernetes fills in."""
    env, master = order.spec.environment, options.master
    terms = order.pod or PodTerms()
    search = f"{HARNESS_DIR}:{env['PYTHONPATH']}" if env.get("PYTHONPATH") else HARNESS_DIR
    variables = {
        "PYTHONUNBUFFERED": "1",
        **env,
        "DET_CLUSTER_ID": options.cluster_id,
        "DET_MASTER_ID": options.master_id,
        "DET_MASTER": master.url,
        "DET_MASTER_HOST": master.host,
        "DET_MASTER_ADDR": master.host,
        "DET_MASTER_PORT": str(master.port),
        "DET_AGENT_ID": order.agent_id,
        "DET_CONTAINER_ID": order.container_id,
        "DET_SLOT_IDS": json.dumps(list(range(len(order.slot_ids))), separators=(",", ":")),
        "DET_RESOURCES_TYPE": "k8s-job",
        "DET_RENDEZVOUS": "master",
        "DET_KUBERNETES_JOB_PARALLELISM": str(terms.pods),
        "DET_K8S_RESOURCE_POOL": terms.pool,
        "PYTHONPATH": search,
    }
    if order.slot_ids:
        variables["DET_SLOT_TYPE"] = options.slot_type
    if not order.slot_ids or options.slot_type == "cpu":
        variables["NVIDIA_VISIBLE_DEVICES"] = "void"
    if options.handover_of(order.agent_id) is not None:
        del variables["DET_AGENT_ID"]  # the cluster chooses the node
    if options.gateway is not None:
        variables["DET_PROXY_THROUGH_GATEWAY"] = "true"
    if master.cert_name:
        variables["DET_MASTER_CERT_NAME"] = master.cert_name
    return variables
