"""`det deploy gke-experimental` names the commands that replace it."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Det


@pytest.mark.parametrize(
    ("words", "commands"),
    [
        (
            ("up", "--cluster-id", "lab", "--zone", "us-east1-c", "--max-nodes", "3"),
            ["gcloud container clusters create lab --zone us-east1-c", "det deploy kubernetes up"],
        ),
        (
            ("down", "--cluster-id", "lab"),
            ["det deploy kubernetes down", "gcloud container clusters delete lab"],
        ),
    ],
)
def test_the_replacement_is_named(det: Det, words: tuple[str, ...], commands: list[str]) -> None:
    refused = det("deploy", "gke-experimental", *words)
    assert refused.status == 1
    for command in commands:
        assert command in refused.err
