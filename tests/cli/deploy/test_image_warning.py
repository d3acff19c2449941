"""What `det deploy aws|gcp up` says of the images of tasks."""

from __future__ import annotations

import types
from typing import Any

import pytest

from determined_deploy.cloud.options import warn_of_images


@pytest.mark.parametrize(
    ("cpu", "gpu", "names"),
    [("a:1", None, "a:1"), ("a:1", "b:2", "a:1 and b:2"), ("a:1", "a:1", "bucket: a:1 must")],
)
def test_up_prints_what_a_named_image_needs_for_the_bucket(
    cpu: str, gpu: str | None, names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options: Any = types.SimpleNamespace(cpu_image=cpu, gpu_image=gpu)
    warn_of_images(options, "boto3")
    text = capsys.readouterr().out
    assert names in text
    assert "Python 3.11 or newer and glibc" in text
    assert "or else boto3" in text


def test_up_prints_nothing_about_the_default_images(capsys: pytest.CaptureFixture[str]) -> None:
    options: Any = types.SimpleNamespace(cpu_image=None, gpu_image=None)
    warn_of_images(options, "boto3")
    assert capsys.readouterr().out == ""
