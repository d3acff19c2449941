"""Mistakes in what trials run on and where they save (experiment-config 11 to 14)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.config.refusals import check_refusal, refusal

SHARED = {"type": "shared_fs", "host_path": "/shared"}

CASES = [
    refusal(
        "experiment-config 11.slots 24.slots 25.slots",
        {"resources": {"slots": 1}},
        'resources: additionalProperties "slots" not allowed',
    ),
    refusal(
        "experiment-config 11.slots_per_trial",
        {"resources": {"slots_per_trial": -1}},
        "resources.slots_per_trial: must be >=",
    ),
    refusal(
        "experiment-config 11.priority 25.priority",
        {"resources": {"priority": 0}},
        "resources.priority: must be >= 1 but found 0",
    ),
    refusal(
        "experiment-config 11.priority 25.priority",
        {"resources": {"priority": 500}},
        "resources.priority: must be <= 99 but found",
    ),
    refusal(
        "experiment-config 11.shm_size 25.shm_size",
        {"resources": {"shm_size": "4x"}},
        "resources.shm_size: must be a valid memory size",
    ),
    refusal(
        "experiment-config 11.slots_above_max 26.slots_above_max",
        {"resources": {"slots_per_trial": 4, "max_slots": 2}},
        "resources: slots_per_trial (4) is more than max_slots (2)",
    ),
    refusal(
        "experiment-config 11.resource_pool 25.pool",
        {"resources": {"resource_pool": "x"}},
        "resources.resource_pool: resource pool x does not exist or is not available",
    ),
    refusal(
        "experiment-config 12.image 25.forms",
        {"environment": {"image": 1}},
        "environment.image: is neither a string nor a map",
    ),
    refusal(
        "experiment-config 12.image",
        {"environment": {"image": {"tpu": "x"}}},
        'environment.image: additionalProperties "tpu" not allowed',
    ),
    refusal(
        "experiment-config 12.environment_variables 25.forms",
        {"environment": {"environment_variables": "A=1"}},
        "environment.environment_variables: is neither a list",
    ),
    refusal(
        "experiment-config 12.environment_variables",
        {"environment": {"environment_variables": ["A=1", {"cpu": []}]}},
        "environment.environment_variables: is not a list of strings",
    ),
    refusal(
        "experiment-config 12.proxy_ports",
        {"environment": {"proxy_ports": [{"proxy_tcp": True}]}},
        "environment.proxy_ports[0]: proxy_port is a required property",
    ),
    refusal(
        "experiment-config 12.proxy_ports",
        {"environment": {"proxy_ports": [{"proxy_port": 1000 + n} for n in range(33)]}},
        "environment.proxy_ports: has 33 ports, at most 32 allowed",
    ),
    refusal(
        "experiment-config 12.pod_restrictions 25.pod_spec 1.disallowProperties",
        {
            "environment": {
                "pod_spec": {
                    "spec": {"containers": [{"name": "determined-container", "image": "x"}]}
                }
            }
        },
        "environment.pod_spec.spec.containers[0].image: is not configurable",
    ),
    refusal(
        "experiment-config 13.host_path 25.host_path",
        {"bind_mounts": [{"host_path": "a", "container_path": "b"}]},
        'bind_mounts[0].host_path: must be an absolute path but found "a"',
    ),
    refusal(
        "experiment-config 13.container_path 25.container_path",
        {"bind_mounts": [{"host_path": "/a", "container_path": "."}]},
        'bind_mounts[0].container_path: must not be "."',
    ),
    refusal(
        "experiment-config 2.bind_mounts",
        {"bind_mounts": [None]},
        "bind_mounts[0]: expected object, but got null",
    ),
    refusal(
        "experiment-config 13.device_else 25.forms",
        {"resources": {"devices": ["/a"]}},
        "resources.devices[0]: is neither a device",
    ),
    refusal(
        "experiment-config 14.type 25.storage_type",
        {"checkpoint_storage": {"type": "x"}},
        "checkpoint_storage.type: type must be one",
    ),
    refusal(
        "experiment-config 14.hdfs",
        {"checkpoint_storage": {"type": "hdfs"}},
        "checkpoint_storage.type: type",
    ),
    refusal(
        "experiment-config 14.shared_fs 25.storage_path 1.compareProperties",
        {"checkpoint_storage": {**SHARED, "storage_path": "a/../../b"}},
        "checkpoint_storage.storage_path: must be relative or a directory below host_path",
    ),
    refusal(
        "experiment-config 14.shared_fs 25.storage_path 26.storage_path",
        {"checkpoint_storage": {**SHARED, "storage_path": "/sharedx"}},
        "checkpoint_storage.storage_path: must be relative or a directory below host_path",
    ),
    refusal(
        "experiment-config 14.gcs 25.prefix",
        {"checkpoint_storage": {"type": "gcs", "bucket": "b", "prefix": "a/.."}},
        "checkpoint_storage.prefix: must not contain parent directories",
    ),
    refusal(
        "experiment-config 14.s3",
        {"checkpoint_storage": {"type": "s3"}},
        "checkpoint_storage: bucket is a required",
    ),
    refusal(
        "experiment-config 14.azure 25.azure 26.azure_one",
        {"checkpoint_storage": {"type": "azure", "container": "c"}},
        "checkpoint_storage: exactly one of connection_string and account_url must be set",
    ),
    refusal(
        "experiment-config 14.azure 25.azure",
        {
            "checkpoint_storage": {
                "type": "azure",
                "container": "c",
                "connection_string": "x",
                "credential": "y",
            }
        },
        "checkpoint_storage: credential and connection_string must not both be set",
    ),
    refusal(
        "experiment-config 14.save_trial_best",
        {"checkpoint_storage": {"save_trial_best": -1}},
        "checkpoint_storage.save_trial_best: must be >= 0",
    ),
    refusal(
        "experiment-config 11.max_slots",
        {"resources": {"max_slots": -1}},
        "resources.max_slots: must be >= 0",
    ),
    refusal(
        "experiment-config 11.weight",
        {"resources": {"weight": 0}},
        "resources.weight: must be > 0",
    ),
    refusal(
        "experiment-config 11.is_single_node",
        {"resources": {"is_single_node": 1}},
        "resources.is_single_node: expected boolean",
    ),
    *[
        refusal(
            "experiment-config 11.shm_size",
            {"resources": {"shm_size": size}},
            "resources.shm_size: must be a valid memory size",
        )
        for size in ("4  GiB", "1 gi", "1gi", "1 i", "1ib")
    ],
    refusal(
        "experiment-config 11.devices",
        {"resources": {"devices": "/dev/a"}},
        "resources.devices: expected array",
    ),
    refusal(
        "experiment-config 12.ports",
        {"environment": {"ports": {"a": "x"}}},
        "environment.ports.a: expected integer",
    ),
    refusal(
        "experiment-config 12.force_pull_image",
        {"environment": {"force_pull_image": 1}},
        "environment.force_pull_image: expected boolean",
    ),
    refusal(
        "experiment-config 12.registry_auth",
        {"environment": {"registry_auth": {"server": "x"}}},
        'environment.registry_auth: additionalProperties "server" not allowed',
    ),
    refusal(
        "experiment-config 12.capabilities",
        {"environment": {"add_capabilities": "X"}},
        "environment.add_capabilities: expected array",
    ),
    refusal(
        "experiment-config 12.capabilities",
        {"environment": {"drop_capabilities": [1]}},
        "environment.drop_capabilities[0]: expected string",
    ),
    refusal(
        "experiment-config 12.pod_spec",
        {"environment": {"pod_spec": "x"}},
        "environment.pod_spec: expected object",
    ),
    refusal(
        "experiment-config 12.pod_spec",
        {
            "environment": {
                "pod_spec": {"spec": {"containers": [{"name": "s", "security_context": "none"}]}}
            }
        },
        "environment.pod_spec.spec.containers[0].securityContext: expected object",
    ),
    refusal(
        "experiment-config 12.pod_restrictions",
        {"environment": {"pod_spec": {"spec": {"hostNetwork": True}}}},
        "environment.pod_spec.spec.hostNetwork: is not configurable",
    ),
    refusal(
        "experiment-config 12.pod_restrictions 25.pod_spec",
        {"environment": {"pod_spec": {"name_space": "x"}}},
        "environment.pod_spec.name_space: is not configurable",
    ),
    refusal(
        "experiment-config 13.host_path",
        {"bind_mounts": [{"container_path": "b"}]},
        "bind_mounts[0]: host_path is a required property",
    ),
    refusal(
        "experiment-config 13.container_path",
        {"bind_mounts": [{"host_path": "/b"}]},
        "bind_mounts[0]: container_path is a required property",
    ),
    refusal(
        "experiment-config 13.read_only",
        {"bind_mounts": [{"host_path": "/b", "container_path": "c", "read_only": 1}]},
        "bind_mounts[0].read_only: expected boolean",
    ),
    refusal(
        "experiment-config 13.propagation",
        {"bind_mounts": [{"host_path": "/b", "container_path": "c", "propagation": 1}]},
        "bind_mounts[0].propagation: expected string",
    ),
    refusal(
        "experiment-config 13.device_string",
        {"resources": {"devices": ["a:/b"]}},
        "resources.devices[0]: is neither a device",
    ),
    refusal(
        "experiment-config 13.device_string",
        {"resources": {"devices": ["/a:/b:x"]}},
        "resources.devices[0]: is neither a device",
    ),
    refusal(
        "experiment-config 13.device_map",
        {"resources": {"devices": [{"host_path": "/a"}]}},
        "resources.devices[0]: container_path is a required property",
    ),
    refusal(
        "experiment-config 13.device_map",
        {"resources": {"devices": [{"host_path": "/a", "container_path": "/b", "mode": "x"}]}},
        "resources.devices[0].mode: must be of the letters",
    ),
    refusal(
        "experiment-config 13.device_else",
        {"resources": {"devices": [3]}},
        "resources.devices[0]: is neither a device",
    ),
    refusal(
        "experiment-config 14.shared_fs",
        {"checkpoint_storage": {"type": "shared_fs", "host_path": "x"}},
        "checkpoint_storage.host_path: must be an absolute path",
    ),
    refusal(
        "experiment-config 14.shared_fs 26.storage_path",
        {"checkpoint_storage": {**SHARED, "storage_path": "/"}},
        "checkpoint_storage.storage_path: must be relative",
    ),
    refusal(
        "experiment-config 14.directory",
        {"checkpoint_storage": {"type": "directory"}},
        "checkpoint_storage: container_path is a required property",
    ),
    refusal(
        "experiment-config 14.s3 25.prefix",
        {"checkpoint_storage": {"type": "s3", "bucket": "b", "prefix": "a/../b"}},
        "checkpoint_storage.prefix: must not contain parent directories",
    ),
    refusal(
        "experiment-config 14.s3 25.prefix",
        {"checkpoint_storage": {"type": "s3", "bucket": "b", "prefix": "../b"}},
        "checkpoint_storage.prefix: must not contain parent directories",
    ),
    refusal(
        "experiment-config 14.gcs",
        {"checkpoint_storage": {"type": "gcs"}},
        "checkpoint_storage: bucket is a required property",
    ),
    refusal(
        "experiment-config 14.azure",
        {"checkpoint_storage": {"type": "azure", "account_url": "u"}},
        "checkpoint_storage: container is a required property",
    ),
    refusal(
        "experiment-config 14.azure 26.azure_one",
        {
            "checkpoint_storage": {
                "type": "azure",
                "container": "c",
                "connection_string": "x",
                "account_url": "u",
            }
        },
        "checkpoint_storage: exactly one of connection_string and account_url",
    ),
    refusal(
        "experiment-config 14.save_experiment_best 14.gc_editing",
        {"checkpoint_storage": {"save_experiment_best": -1}},
        "checkpoint_storage.save_experiment_best: must be >= 0",
    ),
    refusal(
        "experiment-config 14.save_trial_latest",
        {"checkpoint_storage": {"save_trial_latest": "x"}},
        "checkpoint_storage.save_trial_latest: expected integer",
    ),
    *[
        refusal(
            "experiment-config 12.pod_restrictions 25.pod_spec",
            {
                "environment": {
                    "pod_spec": {
                        "spec": {"containers": [{"name": "determined-container", key: 1}]}
                    }
                }
            },
            f"environment.pod_spec.spec.containers[0].{key}: is not configurable",
        )
        for key in (
            "image",
            "command",
            "args",
            "working_dir",
            "ports",
            "liveness_probe",
            "readiness_probe",
            "startup_probe",
            "lifecycle",
            "termination_message_path",
            "termination_message_policy",
            "image_pull_policy",
            "security_context",
            "securityContext",
        )
    ],
]


@pytest.mark.parametrize(("overrides", "start"), CASES)
def test_a_mistake_is_named_with_its_path_and_brings_no_others(
    overrides: dict[str, Any], start: str
) -> None:
    check_refusal(overrides, start)
