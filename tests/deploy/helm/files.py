"""Values files: what administrators write, by name."""

from __future__ import annotations

from typing import Any

VALUES: dict[str, dict[str, Any]] = {
    "smallest": {"maxSlotsPerPod": 0},
    "gpus": {
        "maxSlotsPerPod": 8,
        "clusterName": "vision",
        "defaultImages": {"gpuImage": "registry/gpu:1", "cpuImage": "registry/cpu:1"},
        "resourcePools": [
            {"pool_name": "default"},
            {
                "pool_name": "h100",
                "task_container_defaults": {
                    "gpu_pod_spec": {"spec": {"nodeSelector": {"gpu-type": "h100"}}}
                },
            },
        ],
        "defaultComputeResourcePool": "h100",
    },
    "queued": {
        "maxSlotsPerPod": 4,
        "resourcePools": [
            {"pool_name": "default", "scheduler": {"type": "kueue", "queue_name": "team-a"}}
        ],
    },
    "growing": {
        "maxSlotsPerPod": 4,
        "autoscaling": {
            "demand": "provisioning_request",
            "className": "queued.example.com",
            "maxPods": 8,
            "protectTasks": False,
        },
    },
    "cpus": {"maxSlotsPerPod": 4, "slotType": "cpu", "slotResourceRequests": {"cpu": 0.5}},
    "own_database": {
        "maxSlotsPerPod": 1,
        "db": {
            "hostAddress": "db.example.org",
            "user": "det",
            "password": "Secret12",
            "port": 6432,
            "sslMode": "verify-full",
            "sslRootCert": "ca.pem",
            "resourceType": "configmap",
            "certResourceName": "db-ca",
        },
    },
    "older": {  # as an administrator of the 0.38.1 chart has it
        "imageRegistry": "registry.example.org/determined",
        "imagePullSecretName": "registry",
        "enterpriseEdition": False,
        "masterPort": 80,
        "useNodePortForMaster": True,
        "masterCpuRequest": 0.5,
        "masterMemRequest": "2Gi",
        "maxSlotsPerPod": 4,
        "initialUserPassword": "Password1",
        "createNonNamespacedObjects": False,
        "db": {
            "name": "determined",
            "user": "postgres",
            "password": "postgres",
            "port": 5432,
            "storageSize": "30Gi",
            "storageClassName": "standard",
            "useNodePortForDB": True,
            "cpuRequest": 1,
            "memRequest": "1Gi",
        },
        "checkpointStorage": {
            "type": "gcs",
            "bucket": "checkpoints",
            "saveExperimentBest": 0,
            "saveTrialBest": 0,
            "saveTrialLatest": 0,
        },
        "taskContainerDefaults": {
            "networkMode": "bridge",
            "dtrainNetworkInterface": "eth0",
            "forcePullImage": True,
            "cpuPodSpec": {"spec": {"tolerations": [{"operator": "Exists"}]}},
            "gpuPodSpec": {"metadata": {"labels": {"team": "a"}}},
            "checkpointGcPodSpec": {"spec": {"nodeSelector": {"a": "b"}}},
            "cpuImage": "registry/cpu:2",
            "startupHook": "echo hello",
        },
        "telemetry": {"enabled": True},
        "observability": {"enable_prometheus": False},
        "tensorboardTimeout": 600,
        "notebookTimeout": 1200,
        "retentionPolicy": {"logRetentionDays": 0, "schedule": "0 3 * * *"},
        "oidc": {"enabled": False},
        "fluent": None,
    },
    "s3": {
        "maxSlotsPerPod": 1,
        "checkpointStorage": {
            "type": "s3",
            "bucket": "b",
            "prefix": "p",
            "accessKey": "AK",
            "secretKey": "SK",
            "endpointUrl": "https://s3.example.org",
        },
    },
    "azure": {
        "maxSlotsPerPod": 1,
        "checkpointStorage": {"type": "azure", "container": "c", "connection_string": "x"},
    },
    "directory": {
        "maxSlotsPerPod": 1,
        "checkpointStorage": {"type": "directory", "containerPath": "/checkpoints"},
    },
    "mounted": {
        "maxSlotsPerPod": 1,
        "checkpointStorage": {"type": "shared_fs", "hostPath": "/nfs", "mountToServer": True},
    },
    "ingress": {
        "maxSlotsPerPod": 1,
        "ingress": {"enabled": True, "host": "det.example.org", "tlsSecretName": "web"},
        "networkPolicy": {"enabled": True, "masterFrom": [{"namespaceSelector": {}}]},
        "podDisruptionBudget": {"enabled": True},
        "prometheus": {"annotations": True},
        "security": {"authz": {"type": "rbac"}, "token": {"maxLifespanDays": -1}},
    },
    "route": {
        "maxSlotsPerPod": 1,
        "openshiftRoute": {"enabled": True, "host": "det.example.org", "termination": "edge"},
        "master": {"podSecurityContext": None, "securityContext": None},
        "db": {"podSecurityContext": None, "disablePVC": True},
    },
    "several_clusters": {
        "maxSlotsPerPod": 1,
        "determinedMasterHost": "det.example.org",
        "determinedMasterPort": 443,
        "determinedMasterScheme": "https",
        "resourceManager": {"clusterName": "near", "defaultNamespace": "tasks"},
        "rbac": {"taskNamespaces": ["tasks", "team-b"], "manageNamespaces": False},
        "additional_resource_managers": [
            {
                "resource_manager": {
                    "type": "kubernetes",
                    "cluster_name": "far",
                    "max_slots_per_pod": 2,
                    "determined_master_host": "det.example.org",
                    "determined_master_port": 443,
                    "kubeconfig_secret_name": "far-cluster",
                    "kubeconfig_secret_value": "config",
                },
                "resource_pools": [{"pool_name": "far"}],
            }
        ],
    },
    "placed": {
        "maxSlotsPerPod": 1,
        "detVersion": "1.2.3",
        "defaultScheduler": "coscheduler",
        "externalCaCertSecretName": "authorities",
        "master": {
            "nodeSelector": {"role": "system"},
            "tolerations": [{"key": "system", "operator": "Exists"}],
            "podLabels": {"team": "platform"},
        },
        "db": {"claimSuffix": "old", "nodeSelector": {"role": "db"}},
        "masterConfig": {"launch_error": False, "webhooks": {"base_url": "https://det.example"}},
    },
}
