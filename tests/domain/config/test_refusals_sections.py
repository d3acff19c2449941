"""Mistakes at the top and in small sections (experiment-config 2, 3, 15, 16)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.config.refusals import check_refusal, refusal

SHARED = {"type": "shared_fs", "host_path": "/shared"}

CASES = [
    refusal(
        "experiment-config 2.version 1.2 25.version",
        {"version": 1},
        "version: invalid version 1: only 0 is known",
    ),
    refusal(
        "experiment-config 25.unknown_key 1.3",
        {"bogus": 1},
        ': additionalProperties "bogus" not allowed',
    ),
    refusal(
        "experiment-config 25.unknown_key",
        {"hyperparameter": {}},
        ': additionalProperties "hyperparameter" not allowed; did you mean "hyperparameters"?',
    ),
    refusal("experiment-config 2.name", {"name": " "}, "name: must not be blank"),
    refusal(
        "experiment-config 2.name", {"name": 3}, "name: expected string or null, but got integer"
    ),
    refusal(
        "experiment-config 2.labels",
        {"labels": "a"},
        "labels: expected array or null, but got string",
    ),
    refusal(
        "experiment-config 2.workspace 25.workspace_project",
        {"workspace": "w"},
        ": must provide both workspace and project, or neither; project is missing",
    ),
    refusal(
        "experiment-config 2.max_restarts",
        {"max_restarts": -1},
        "max_restarts: must be >= 0 but found -1",
    ),
    refusal(
        "experiment-config 2.max_restarts 1.3",
        {"max_restarts": "5"},
        "max_restarts: expected integer or null, but got string",
    ),
    refusal(
        "experiment-config 2.max_restarts",
        {"max_restarts": True},
        "max_restarts: expected integer or null, but",
    ),
    refusal(
        "experiment-config 2.checkpoint_policy",
        {"checkpoint_policy": "x"},
        "checkpoint_policy: value must be one of",
    ),
    refusal(
        "experiment-config 2.scheduling_unit",
        {"scheduling_unit": 0},
        "scheduling_unit: must be >= 1 but found 0",
    ),
    refusal(
        "experiment-config 2.debug",
        {"debug": "maybe"},
        "debug: expected boolean or null, but got string",
    ),
    refusal(
        "experiment-config 2.internal", {"internal": {}}, "internal: expected null, but got object"
    ),
    refusal(
        "experiment-config 2.length 25.length",
        {"min_validation_period": {"zip": 1}},
        "min_validation_period: a length object",
    ),
    refusal(
        "experiment-config 2.length 25.length 2.min_checkpoint_period",
        {"min_checkpoint_period": {"batches": 1, "epochs": 1}},
        "min_checkpoint_period: a length object must have one attribute of batches, records",
    ),
    refusal(
        "experiment-config 2.length 2.min_validation_period",
        {"min_validation_period": {"batches": -1}},
        "min_validation_period.batches: must be >= 0 but found -1",
    ),
    refusal(
        "experiment-config 2.tensorboard_storage 1.disallowProperties",
        {"tensorboard_storage": {**SHARED, "save_trial_best": 1}},
        "tensorboard_storage.save_trial_best: is not allowed here",
    ),
    refusal(
        "experiment-config 2.entrypoint 3.null 25.entrypoint",
        {"entrypoint": None},
        "entrypoint: managed experiments require entrypoint",
    ),
    refusal(
        "experiment-config 2.entrypoint 1.checks",
        {"entrypoint": 1},
        "entrypoint: expected string, array or null, but got integer",
    ),
    refusal(
        "experiment-config 3.list",
        {"entrypoint": ["a", 1]},
        "entrypoint[1]: expected string or null, but got integer",
    ),
    refusal(
        "experiment-config 15.profiling.begin_on_batch 1.compareProperties",
        {"profiling": {"begin_on_batch": 5, "end_after_batch": 1}},
        "profiling: begin_on_batch must be less than end_after_batch",
    ),
    refusal(
        "experiment-config 15.optimizations.mixed_precision",
        {"optimizations": {"mixed_precision": "O9"}},
        "optimizations.mixed_precision:",
    ),
    refusal(
        "experiment-config 15.slurm.sbatch_args 25.batch_options",
        {"slurm": {"sbatch_args": ["-N2"]}},
        "slurm.sbatch_args[0]: option -N2 is not",
    ),
    refusal(
        "experiment-config 15.slurm.sbatch_args",
        {"slurm": {"sbatch_args": ["--gres=gpu:1"]}},
        "slurm.sbatch_args[0]: option --gres",
    ),
    refusal(
        "experiment-config 15.pbs.pbsbatch_args 25.batch_options",
        {"pbs": {"pbsbatch_args": ["-V"]}},
        "pbs.pbsbatch_args[0]: option -V is not",
    ),
    refusal(
        "experiment-config 16.name 1.checks",
        {"log_policies": [{"pattern": "x"}]},
        "log_policies[0]: a log policy needs a name, or a pattern and an action",
    ),
    refusal(
        "experiment-config 16.duplicates 25.log_policy_names",
        {"log_policies": [{"name": "a", "pattern": "x"}, {"name": "a"}]},
        "log_policies: names must be unique but found twice: a",
    ),
    refusal(
        "experiment-config 16.bad_pattern 16.pattern",
        {"log_policies": [{"name": "a", "pattern": "("}]},
        'log_policies[0].pattern: "(" is not a regular expression',
    ),
    refusal(
        "experiment-config 16.action",
        {"log_policies": [{"name": "a", "action": "x"}]},
        "log_policies[0].action: value",
    ),
    refusal(
        "experiment-config 16.log_retention_days",
        {"retention_policy": {"log_retention_days": -2}},
        "retention_policy.log_retention_days: must be >= -1",
    ),
    refusal(
        "experiment-config 16.log_retention_days 2.retention_policy",
        {"retention_policy": {}},
        "retention_policy: log_retention_days is a required property",
    ),
    refusal(
        "experiment-config 16.pachyderm.pachd 16.pachyderm.proxy 16.pachyderm.dataset",
        {"integrations": {"pachyderm": {}}},
        "integrations.pachyderm: dataset is a required property",
    ),
    refusal(
        "experiment-config 2.description",
        {"description": 3},
        "description: expected string or null, but got integer",
    ),
    refusal(
        "experiment-config 2.data", {"data": [1]}, "data: expected object or null, but got array"
    ),
    refusal(
        "experiment-config 2.workspace 25.workspace_project",
        {"project": "p"},
        ": must provide both workspace and project, or neither; workspace is missing",
    ),
    refusal(
        "experiment-config 2.hyperparameters",
        {"hyperparameters": [1]},
        "hyperparameters: expected object or null, but got array",
    ),
    refusal(
        "experiment-config 2.resources",
        {"resources": 1},
        "resources: expected object or null, but got integer",
    ),
    refusal(
        "experiment-config 2.environment",
        {"environment": "x"},
        "environment: expected object or null, but got string",
    ),
    refusal(
        "experiment-config 2.checkpoint_storage",
        {"checkpoint_storage": "/x"},
        "checkpoint_storage: expected object or null, but got string",
    ),
    refusal(
        "experiment-config 2.perform_initial_validation",
        {"perform_initial_validation": 1},
        "perform_initial_validation: expected boolean or null, but got integer",
    ),
    refusal(
        "experiment-config 2.preemption_timeout",
        {"preemption_timeout": -1},
        "preemption_timeout: must be >= 0 but found -1",
    ),
    refusal(
        "experiment-config 2.log_policies",
        {"log_policies": {}},
        "log_policies: expected array or null, but got object",
    ),
    refusal(
        "experiment-config 2.integrations",
        {"integrations": {"slack": {}}},
        'integrations: additionalProperties "slack" not allowed',
    ),
    refusal(
        "experiment-config 2.reproducibility 15.reproducibility",
        {"reproducibility": {"seed": 1}},
        'reproducibility: additionalProperties "seed" not allowed',
    ),
    refusal(
        "experiment-config 2.profiling 15.profiling.enabled",
        {"profiling": {"enabled": "x"}},
        "profiling.enabled: expected boolean or null, but got string",
    ),
    refusal(
        "experiment-config 2.slurm", {"pbs": []}, "pbs: expected object or null, but got array"
    ),
    refusal(
        "experiment-config 2.records_per_epoch",
        {"records_per_epoch": -1},
        "records_per_epoch: must be >= 0 but found -1",
    ),
    refusal(
        "experiment-config 2.security",
        {"security": {"kerberos": {}}},
        "security.kerberos: config_file is a required property",
    ),
    refusal(
        "experiment-config 2.tensorboard_storage",
        {"tensorboard_storage": {"type": "azure"}},
        "tensorboard_storage.type: type must be one of shared_fs, s3, gcs",
    ),
    refusal(
        "experiment-config 15.profiling.begin_on_batch",
        {"profiling": {"begin_on_batch": -1}},
        "profiling.begin_on_batch: must be >= 0",
    ),
    refusal(
        "experiment-config 15.profiling.end_after_batch",
        {"profiling": {"end_after_batch": -1}},
        "profiling.end_after_batch: must be >= 0",
    ),
    refusal(
        "experiment-config 15.profiling.sync_timings",
        {"profiling": {"sync_timings": 2}},
        "profiling.sync_timings: expected boolean",
    ),
    refusal(
        "experiment-config 15.slurm.slots_per_node",
        {"slurm": {"slots_per_node": 0}},
        "slurm.slots_per_node: must be >= 1 but found 0",
    ),
    refusal(
        "experiment-config 15.slurm.gpu_type",
        {"slurm": {"gpu_type": 1}},
        "slurm.gpu_type: expected string",
    ),
    refusal(
        "experiment-config 15.pbs.slots_per_node",
        {"pbs": {"slots_per_node": 0}},
        "pbs.slots_per_node: must be >= 1 but found 0",
    ),
    refusal(
        "experiment-config 16.webhooks.webhook_id",
        {"integrations": {"webhooks": {"webhook_id": ["a"]}}},
        "integrations.webhooks.webhook_id[0]: expected integer",
    ),
    refusal(
        "experiment-config 16.webhooks.webhook_name",
        {"integrations": {"webhooks": {"webhook_name": [1]}}},
        "integrations.webhooks.webhook_name[0]: expected string",
    ),
    refusal(
        "experiment-config 16.webhooks.exclude",
        {"integrations": {"webhooks": {"exclude": "x"}}},
        "integrations.webhooks.exclude: expected boolean",
    ),
    refusal(
        "experiment-config 16.pachyderm.pachd",
        {"integrations": {"pachyderm": {"pachd": {"host": "h"}}}},
        "integrations.pachyderm.pachd: port is a required property",
    ),
    refusal(
        "experiment-config 16.pachyderm.proxy",
        {"integrations": {"pachyderm": {"proxy": {"scheme": "s", "host": "h"}}}},
        "integrations.pachyderm.proxy: port is a required property",
    ),
    refusal(
        "experiment-config 16.pachyderm.dataset",
        {"integrations": {"pachyderm": {"dataset": {"project": "p"}}}},
        "integrations.pachyderm.dataset: token is a required property",
    ),
    refusal(
        "experiment-config 16.log_retention_days",
        {"retention_policy": {"log_retention_days": 32768}},
        "retention_policy.log_retention_days: must be <= 32767",
    ),
    *[
        refusal(
            f"experiment-config 15.optimizations.{key}",
            {"optimizations": {key: value}},
            f"optimizations.{key}: {text}",
        )
        for key, value, text in (
            ("aggregation_frequency", 0, "must be >= 1 but found 0"),
            ("average_aggregated_gradients", 1, "expected boolean"),
            ("average_training_metrics", 1, "expected boolean"),
            ("gradient_compression", 1, "expected boolean"),
            ("tensor_fusion_threshold", -1, "must be >= 0 but found -1"),
            ("tensor_fusion_cycle_time", -1, "must be >= 0 but found -1"),
            ("auto_tune_tensor_fusion", 1, "expected boolean"),
            ("grad_updates_size_file", 1, "expected string"),
        )
    ],
    *[
        refusal(
            "experiment-config 15.slurm.sbatch_args 25.batch_options",
            {"slurm": {"sbatch_args": [argument]}},
            f"slurm.sbatch_args[0]: option {argument.split('=')[0].split(' ')[0]} is not",
        )
        for argument in (
            "--ntasks-per-node=2",
            "--gpus=1",
            "-G1",
            "--nodes=1",
            "--ntasks 2",
            "-n2",
            "--chdir=/",
            "-D/x",
            "--error=e",
            "-e x",
            "--output=o",
            "-o x",
            "--partition=p",
            "-p x",
            "--no-requeue",
            "--requeue",
        )
    ],
    *[
        refusal(
            "experiment-config 15.pbs.pbsbatch_args 25.batch_options",
            {"pbs": {"pbsbatch_args": [option]}},
            f"pbs.pbsbatch_args[0]: option {option} is not",
        )
        for option in ("--version", "--", *(f"-{letter}" for letter in "cCeGhIjJkoqrRSuvVWXz"))
    ],
]


@pytest.mark.parametrize(("overrides", "start"), CASES)
def test_a_mistake_is_named_with_its_path_and_brings_no_others(
    overrides: dict[str, Any], start: str
) -> None:
    check_refusal(overrides, start)
