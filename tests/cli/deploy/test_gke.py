"""`det deploy gke` names the commands that replace it."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Det

T4 = "--accelerator type=nvidia-tesla-t4,count=4,gpu-driver-version=default"


@pytest.mark.parametrize("noun", ["gke", "gke-experimental"])
@pytest.mark.parametrize(
    ("words", "commands"),
    [
        (
            ("up", "--cluster-id", "lab", "--zone", "us-east1-c", "--max-nodes", "3"),
            [
                "gcloud container clusters create lab --zone us-east1-c --num-nodes 1 --mach",
                f"--cluster lab --zone us-east1-c --machine-type n1-standard-32 {T4} --num-n",
                "--enable-autoscaling --min-nodes 0 --max-nodes 3",
                "gcloud container clusters get-credentials lab --zone us-east1-c",
                "det deploy kubernetes up",
            ],
        ),
        (
            (
                *("up", "--cluster-id", "lab", "--cpu-only", "--max-cpu-nodes", "2"),
                *("--machine-type", "e2-standard-8", "--gpu-type", "nvidia-l4"),
            ),
            ["--machine-type e2-standard-8 --num-nodes 0 --enable-autoscaling", "--max-nodes 2"],
        ),
        (
            ("down", "--cluster-id", "lab"),
            ["det deploy kubernetes down", "gcloud container clusters delete lab"],
        ),
    ],
)
def test_the_replacement_is_named(
    det: Det, noun: str, words: tuple[str, ...], commands: list[str]
) -> None:
    refused = det("deploy", noun, *words)
    assert refused.status == 1
    for command in commands:
        assert command in refused.err
