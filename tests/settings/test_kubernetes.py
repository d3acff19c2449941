"""Settings of Kubernetes managers, and of several managers (master-config 10, 11, 13)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.covers import covers
from tests.master_settings import errors, read

from determined_master.domain.config.layers import chosen_pool
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.services.configs.defaults import (
    cluster_priorities,
    config_layers,
    pool_configs,
)
from determined_master.settings.kubernetes.resource_manager import KubernetesManager

E = "scheduling-and-provisioning"
SIMPLE = "type: kubernetes, max_slots_per_pod: 4"
TWO = """
resource_manager: {type: agent, cluster_name: here}
resource_pools: [{pool_name: default}, {pool_name: lab}]
additional_resource_managers:
  - resource_manager:
      {type: kubernetes, cluster_name: west, max_slots_per_pod: 8, metadata: {x: 1}}
    resource_pools: [{pool_name: gpus}, {pool_name: fair, scheduler: {type: fair_share}}]
"""
URGENT = """
resource_manager: {type: kubernetes, max_slots_per_pod: 8}
resource_pools:
  - {pool_name: default, scheduler: {preemption: true}}
  - {pool_name: own, scheduler: {default_priority: 7}}
"""


@covers("helm-and-kubernetes 4.namespace")
def test_every_option_has_its_default(tmp_path: Path) -> None:
    manager = read(tmp_path, f"resource_manager: {{{SIMPLE}}}").resource_manager
    assert manager == KubernetesManager(cluster_name="default", max_slots_per_pod=4)
    assert manager.default_namespace == "default"
    assert manager.slot_type == "cuda"
    assert manager.internal_task_gateway is None


@covers("helm-and-kubernetes 4.removed")
def test_older_spellings_are_read(tmp_path: Path) -> None:
    text = f"resource_manager: {{{SIMPLE}, name: east, slot_type: gpu, fluent: {{uid: 1}}}}"
    settings = read(tmp_path, text)
    manager = settings.resource_manager
    assert isinstance(manager, KubernetesManager)
    assert (manager.cluster_name, manager.slot_type) == ("east", "cuda")
    assert "root.resource_manager.fluent: has no effect any more: remove it" in settings.warnings


def test_the_cluster_may_say_how_many_slots_a_pod_has(tmp_path: Path) -> None:
    text = """
resource_manager: {type: kubernetes}
task_container_defaults: {kubernetes: {max_slots_per_pod: 2}}
"""
    manager = read(tmp_path, text).resource_manager
    assert isinstance(manager, KubernetesManager)
    assert manager.max_slots_per_pod == 2
    [problem] = errors(tmp_path, text.replace("kubernetes}", f"{SIMPLE[6:]}}}", 1))
    assert problem.startswith("root.resource_manager.max_slots_per_pod: is 4, and")


KUEUE = "resource_pools: [{pool_name: default, scheduler: {type: kueue, queue_name: lab}}]"


def test_a_pool_of_kueue_has_a_queue_of_its_own_and_larger_priorities_first(
    tmp_path: Path,
) -> None:
    settings = read(tmp_path, f"resource_manager: {{{SIMPLE}}}\n{KUEUE}")
    [config] = pool_configs(settings, {})
    assert (config.rules.queue, config.rules.type) == ("queue:default", "kubernetes")
    assert config.rules.max_slots_per_pod == 4
    coscheduler = f"resource_manager: {{{SIMPLE}, default_scheduler: coscheduler}}"
    [config] = pool_configs(read(tmp_path, coscheduler), {})
    assert config.rules.queue == "queue:default"
    [config] = pool_configs(read(tmp_path, f"resource_manager: {{{SIMPLE}}}"), {})
    assert config.rules.queue == ""


S = "root.resource_pools[0].scheduler"
QUEUES = {
    "devices": (
        f"{SIMPLE}, device_class: gpu.nvidia.com",
        "type: kueue, queue_name: lab",
        f'{S}.type: "kueue" and resource_manager.device_class exclude',
    ),
    "no queue": (SIMPLE, "type: kueue", f"{S}.queue_name: must name kueue's LocalQueue"),
    "a bad name": (SIMPLE, "type: kueue, queue_name: A_b", f"{S}.queue_name: must be a DNS"),
    "no kueue": (SIMPLE, "queue_name: lab", f'{S}.queue_name: needs type "kueue": found'),
    "agents": ("type: agent", "type: kueue, queue_name: a", f'{S}.type: "kueue" is for pools of'),
    "two": (
        f"{SIMPLE}, default_scheduler: coscheduler",
        "type: kueue, queue_name: lab",
        f'{S}.type: "kueue" and resource_manager.default_scheduler exclude',
    ),
}


@pytest.mark.parametrize("name", QUEUES)
def test_contradictions_of_kueue_are_errors(name: str, tmp_path: Path) -> None:
    manager, scheduler, problem = QUEUES[name]
    pools = f"resource_pools: [{{pool_name: default, scheduler: {{{scheduler}}}}}]"
    [found] = errors(tmp_path, f"resource_manager: {{{manager}}}\n{pools}")
    assert found.startswith(problem)


def test_preemption_by_the_planner_has_no_effect_where_the_cluster_decides(tmp_path: Path) -> None:
    text = KUEUE.replace("queue_name: lab", "queue_name: lab, preemption: true")
    settings = read(tmp_path, f"resource_manager: {{{SIMPLE}}}\n{text}")
    assert any(w.startswith(f"{S}.preemption: has no effect") for w in settings.warnings)


M = "root.resource_manager"
GATEWAY = "gateway_name: g, gateway_namespace: n, gateway_ip: 10.0.0.1"
NO_ADDRESS = GATEWAY.replace("10.0.0.1", "''")
MISTAKES = {
    "no bound": ("type: kubernetes", f"{M}.max_slots_per_pod: must say how many"),
    "a bound below 0": ("type: kubernetes, max_slots_per_pod: -1", f"{M}.max_slots_per_pod: must"),
    "namespace": (f"{SIMPLE}, namespace: x", f"{M}.namespace: was removed: use default_namespace"),
    "a bad name": (f"{SIMPLE}, default_namespace: A_b", f"{M}.default_namespace: must be a DNS"),
    "preemption": (f"{SIMPLE}, default_scheduler: preemption", f'{M}.default_scheduler: "preemp'),
    "priority": (f"{SIMPLE}, default_scheduler: priority", f"{M}.default_scheduler: value must"),
    "a demand": (
        f"{SIMPLE}, autoscaling: {{demand: nodes}}",
        f"{M}.autoscaling.demand: value must",
    ),
    "a class": (
        f"{SIMPLE}, autoscaling: {{class_name: Best_effort}}",
        f"{M}.autoscaling.class_name: must be a DNS name",
    ),
    "no class": (
        f"{SIMPLE}, autoscaling: {{class_name: ''}}",
        f"{M}.autoscaling.class_name: must be a DNS name",
    ),
    "cpu": (f"{SIMPLE}, slot_type: cpu", f"{M}.slot_resource_requests.cpu: must say how many"),
    "no cpu": (
        f"{SIMPLE}, slot_type: cpu, slot_resource_requests: {{cpu: 0}}",
        f"{M}.slot_resource_requests.cpu: must be > 0",
    ),
    "half an address": (
        f"{SIMPLE}, determined_master_host: h",
        f"{M}.determined_master_port: host and port must both be set",
    ),
    "an address as a URL": (
        f"{SIMPLE}, determined_master_host: 'http://h', determined_master_port: 80",
        f"{M}.determined_master_host: must be an IP address or a host name, without scheme",
    ),
    "the name of a Service": (
        f"{SIMPLE}, master_service_name: det.lab.svc",
        f"{M}.master_service_name: must be a DNS label",
    ),
    "a rack's label": (
        f"{SIMPLE}, rack_label: rack=a",
        f"{M}.rack_label: must be the key of a label",
    ),
    "a reserved name": (
        f"{SIMPLE}, reserved_names: [tls, A_b]",
        f"{M}.reserved_names[1]: 'A_b' is no name of an object",
    ),
    "a gateway that is no object": (
        f"{SIMPLE}, internal_task_gateway: edge",
        f"{M}.internal_task_gateway: expected object, but got string",
    ),
    "half a gateway": (
        f"{SIMPLE}, internal_task_gateway: {{gateway_name: g}}",
        f"{M}.internal_task_gateway.gateway_ip: is required",
    ),
    "a gateway's ports": (
        f"{SIMPLE}, internal_task_gateway: {{{GATEWAY}, gateway_port_range_start: 1024}}",
        f"{M}.internal_task_gateway.gateway_port_range_start: must be >= 1025",
    ),
    "a gateway's range": (
        f"{SIMPLE}, internal_task_gateway: {{{GATEWAY}, gateway_port_range_start: 65535}}",
        f"{M}.internal_task_gateway.gateway_port_range_start: must be < gateway_port_range_end",
    ),
    "a resource without a domain": (
        f"{SIMPLE}, gpu_resource: mig",
        f"{M}.gpu_resource: must be DOM",
    ),
    "a resource of CPUs": (
        f"{SIMPLE}, slot_type: cpu, gpu_resource: nvidia.com/mig-1g.10gb",
        f"{M}.gpu_resource: must be empty: slot_type is cpu",
    ),
    "the name of a device class": (
        f"{SIMPLE}, device_class: GPU",
        f"{M}.device_class: must be the name of a DeviceClass, but found 'GPU'",
    ),
    "a device class and a resource": (
        f"{SIMPLE}, device_class: gpu.nvidia.com, gpu_resource: nvidia.com/gpu",
        f"{M}.device_class: must be empty with gpu_resource 'nvidia.com/gpu': remove one",
    ),
    "a device class of CPUs": (
        f"{SIMPLE}, device_class: gpu, slot_type: cpu, slot_resource_requests: {{cpu: 1}}",
        f"{M}.device_class: must be empty with slot_type 'cpu': remove one",
    ),
    "a device class of a growing cluster": (
        f"{SIMPLE}, device_class: gpu, autoscaling: {{demand: pods}}",
        f"{M}.device_class: must be empty with autoscaling.demand 'pods': remove one",
    ),
    "a device class and another scheduler": (
        f"{SIMPLE}, device_class: gpu, default_scheduler: coscheduler",
        f"{M}.device_class: must be empty with default_scheduler 'coscheduler': remove one",
    ),
    "more devices than a claim has": (
        "type: kubernetes, max_slots_per_pod: 33, device_class: gpu",
        f"{M}.max_slots_per_pod: must be at most 32 with device_class",
    ),
    "a selector without a class": (
        f"{SIMPLE}, device_selector: 'true'",
        f"{M}.device_selector: needs device_class",
    ),
    "a selector that is not evaluated": (
        f"{SIMPLE}, device_class: gpu, device_selector: device.driver.matches('g')",
        f"{M}.device_selector: the function matches is not evaluated by the master; docs/kube",
    ),
    "a gateway's name": (
        f"{SIMPLE}, internal_task_gateway: {{{GATEWAY.replace(': g,', ': G_1,')}}}",
        f"{M}.internal_task_gateway.gateway_name: must be a DNS label",
    ),
    "a gateway's address": (
        f"{SIMPLE}, internal_task_gateway: {{{GATEWAY.replace('10.', 'tcp://10.')}}}",
        f"{M}.internal_task_gateway.gateway_ip: must be an IP address or a host name",
    ),
    "an empty address of a gateway": (
        f"{SIMPLE}, internal_task_gateway: {{{NO_ADDRESS}}}",
        f"{M}.internal_task_gateway.gateway_ip: must be an IP address or a host name",
    ),
    "a gateway and port_forward": (
        f"{SIMPLE}, reach_tasks: port_forward, internal_task_gateway: {{{GATEWAY}}}",
        f"{M}.internal_task_gateway: must not be set with reach_tasks: port_forward",
    ),
    "of agents": (f"{SIMPLE}, require_authentication: true", f"{M}.require_authentication: unkn"),
}


@covers("helm-and-kubernetes 4.gateway")
@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::2", "tasks.example.org", "gw"])
def test_a_gateway_is_read_with_the_ports_that_it_had_before(tmp_path: Path, address: str) -> None:
    given = GATEWAY.replace("10.0.0.1", f"'{address}'")
    section = f"resource_manager: {{{SIMPLE}, internal_task_gateway: {{{given}}}}}"
    manager = read(tmp_path, section).resource_manager
    assert isinstance(manager, KubernetesManager)
    gateway = manager.internal_task_gateway
    assert gateway is not None
    assert (gateway.gateway_name, gateway.gateway_namespace) == ("g", "n")
    assert gateway.gateway_ip == address
    assert (gateway.gateway_port_range_start, gateway.gateway_port_range_end) == (32768, 65535)


@covers("helm-and-kubernetes 4.address 4.removed 4.gateway")
@pytest.mark.parametrize(("section", "start"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_with_its_path(tmp_path: Path, section: str, start: str) -> None:
    found = errors(tmp_path, f"resource_manager: {{{section}}}")
    assert [line for line in found if line.startswith(start)], found


@covers("helm-and-kubernetes 16.pool")
def test_pools_of_pods_have_no_provider_and_no_namespace(tmp_path: Path) -> None:
    provider = "{type: aws, image_id: ami-1, ssh_key_name: k, agent_docker_image: a}"
    pool = f"{{pool_name: default, provider: {provider}, kubernetes_namespace: x}}"
    storage = "checkpoint_storage: {type: s3, bucket: checkpoints}"
    found = errors(
        tmp_path, f"resource_manager: {{{SIMPLE}}}\nresource_pools: [{pool}]\n{storage}"
    )
    assert [line.partition(": ")[0] for line in found] == [
        "root.resource_pools.kubernetes_namespace",
        "root.resource_pools[0].provider",
    ]


@covers(f"{E} e.1.no_default")
@pytest.mark.parametrize(("slots", "key"), [(0, "aux"), (1, "compute")])
def test_kubernetes_does_without_default_pools(tmp_path: Path, slots: int, key: str) -> None:
    text = f"resource_manager: {{{SIMPLE}, no_default_resource_pools: true}}\nresource_pools: "
    settings = read(tmp_path, text + "[{pool_name: a}]")
    layers = config_layers(settings, None)
    assert (layers.default_compute_pool, layers.default_aux_pool) == ("", "")
    report = ProblemReport()
    assert chosen_pool({}, slots, layers, report)[0] == ""
    [problem] = report.problems
    assert problem.text == f"no default resource pool set for {key} tasks: name one of a"


def test_each_pool_belongs_to_a_manager(tmp_path: Path) -> None:
    settings = read(tmp_path, TWO)
    assert [m.name for m in settings.managers] == ["here", "west"]
    owners = {p.pool_name: settings.manager_of(p.pool_name).name for p in settings.all_pools}
    assert owners == {"default": "here", "lab": "here", "gpus": "west", "fair": "west"}
    assert settings.manager_of("unknown").name == "here"
    assert settings.manager_of("gpus").metadata == {"x": "1"}
    assert [p.pool_name for p in settings.agent_pools] == ["default", "lab"]
    rules = {c.name: c.rules for c in pool_configs(settings)}
    assert (rules["gpus"].type, rules["gpus"].max_slots_per_pod) == ("kubernetes", 8)
    assert (rules["fair"].type, rules["fair"].max_slots_per_pod) == ("fair_share", 8)
    assert rules["lab"].type == "priority"
    assert {name for name, found in rules.items() if not found.spreads_aux} == {"default", "lab"}

    layers = config_layers(settings, None)
    defaults = {name: pool.default_priority for name, pool in layers.pools.items()}
    assert (defaults["gpus"], defaults["lab"]) == (50, 42)
    orders = {name: pool.priorities for name, pool in layers.pools.items()}
    assert orders == {
        "default": "smaller_first",
        "lab": "smaller_first",
        "gpus": "larger_first",
        "fair": "none",
    }
    assert cluster_priorities(settings) == "none"


@covers("helm-and-kubernetes 6.priority")
def test_a_block_that_sets_no_priority_leaves_that_of_kubernetes(tmp_path: Path) -> None:
    settings = read(tmp_path, URGENT)
    layers = config_layers(settings, None)
    assert {n: p.default_priority for n, p in layers.pools.items()} == {"default": 50, "own": 7}
    assert settings.scheduler_of(settings.all_pools[0]).preemption


@covers("helm-and-kubernetes 18.names")
@covers(f"{E} e.1.unique_managers")
def test_names_of_pools_are_unique_over_all_managers(tmp_path: Path) -> None:
    found = errors(tmp_path, TWO.replace("pool_name: gpus", "pool_name: lab"))
    assert found == [
        'root.additional_resource_managers[0].resource_pools[0].pool_name: "lab" is the name of a '
        'pool of manager "here" and of one of manager "west": names must be unique over all '
        "managers"
    ]


@covers("helm-and-kubernetes 18.names")
def test_managers_need_names_of_their_own(tmp_path: Path) -> None:
    [missing] = errors(tmp_path, TWO.replace("cluster_name: west, ", ""))
    at = "root.additional_resource_managers[0].resource_manager.cluster_name"
    assert missing == f"{at}: is required, and must be unique over all managers"
    [twice] = errors(tmp_path, TWO.replace("west", "here"))
    assert twice == (
        f'{at}: "here" is the name of resource_manager too: names of managers must be unique, '
        "rename one of them"
    )


@covers("helm-and-kubernetes 18.names")
def test_an_additional_manager_runs_kubernetes_and_has_pools(tmp_path: Path) -> None:
    found = errors(tmp_path, TWO.replace("{type: kubernetes, ", "{type: agent, "))
    at = "root.additional_resource_managers[0]"
    assert any(f'{at}.resource_manager.type: "agent" cannot be an' in line for line in found)
    head = TWO[: TWO.rindex("resource_pools:")]
    assert f"{at}.resource_pools: must have at least one pool" in errors(tmp_path, head)


def test_with_several_managers_each_says_how_many_slots_a_pod_has(tmp_path: Path) -> None:
    shared = "task_container_defaults: {kubernetes: {max_slots_per_pod: 2}}\n"
    settings = read(tmp_path, TWO + shared)
    assert any("has no effect with several managers" in text for text in settings.warnings)
    found = errors(tmp_path, shared + TWO.replace("max_slots_per_pod: 8, ", ""))
    at = "root.additional_resource_managers[0].resource_manager.max_slots_per_pod"
    assert found == [f"{at}: must say how many slots one pod may have; 0 for none"]


def test_tasks_without_slots_are_packed_where_idle_nodes_are_removed(tmp_path: Path) -> None:
    for demand, spreads in (("none", True), ("pods", False)):
        text = f"resource_manager: {{{SIMPLE}, autoscaling: {{demand: {demand}}}}}"
        [config] = pool_configs(read(tmp_path, text))
        assert config.rules.spreads_aux is spreads
