"""One registry and one name for each image, in everything that names the images of a release."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tools.release import JOIN, steps

from determined_master.domain.config.sections.environment import DEFAULT_IMAGES
from determined_wire import images
from determined_wire.release import VERSION

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/determined"
OTHER = "determinedai"
"""Where the images of 0.38.1 are."""
MAY_NAME_THE_OTHER = {
    "docs/differences/agents-and-containers.md": "the row about it",
    "docs/deploy-kubernetes.md": "the difference of the chart",
    "deploy/helm/determined/templates/NOTES.txt": "values of 0.38.1 may have it",
    "src/determined_wire/images.py": "stored configurations have it",
    "src/determined_deploy/commands.py": "the default of an option that has no effect",
    "src/determined_deploy/local/start.py": "the same",
}


def texts() -> list[tuple[str, str]]:
    """Path and content of all that users read or run."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--", ":!tests", ":!webui/package-lock.json"],
        check=True,
        capture_output=True,
        text=True,
    )
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [
        (str(path.relative_to(ROOT)), path.read_text(errors="replace"))
        for path in paths
        if path.is_file() and path.suffix not in (".png", ".woff2")
    ]


TEXTS = texts()


def test_the_chart_has_the_registry_of_the_release() -> None:
    values = YAML(typ="safe").load((CHART / "values.yaml").read_text())
    assert values["imageRegistry"] == images.REGISTRY


def test_default_images_of_tasks_are_those_of_the_release() -> None:
    assert {
        device: f"{images.REGISTRY}/determined-task-{device}:{VERSION}"
        for device in ("cpu", "cuda", "rocm")
    } == DEFAULT_IMAGES


def test_a_release_publishes_each_image_that_anything_names() -> None:
    joined = [step.command[len(JOIN) :] for step in steps() if step.command[: len(JOIN)] == JOIN]
    pushed = {name for name, *_ in joined}
    single = {word for step in steps() if "push" in step.command for word in step.command}
    assert {tag for _, *tags in joined for tag in tags} <= single
    assert {images.published(part) for part in images.PARTS} <= pushed
    assert set(DEFAULT_IMAGES.values()) <= pushed
    assert f"{images.REGISTRY}/determined-master:{VERSION}" in pushed


def test_the_workflow_logs_in_to_that_registry() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    assert "src/determined_wire/images.py" in workflow
    assert images.REGISTRY not in workflow
    assert "REGISTRY" not in "".join(line for line in workflow.splitlines() if "vars." in line)


def test_texts_name_images_of_the_release_alone() -> None:
    allowed = {images.published(part) for part in images.PARTS}
    allowed |= {images.repository(part) for part in images.PARTS} | {images.REGISTRY}
    name = re.compile(re.escape(images.REGISTRY) + r"[\w/.:-]*[\w]|" + re.escape(images.REGISTRY))
    wrong = [
        f"{path}: {found}"
        for path, text in TEXTS
        for found in name.findall(text)
        if found not in allowed
    ]
    assert wrong == []


def test_only_what_must_names_the_images_of_another_product() -> None:
    named = {path for path, text in TEXTS if OTHER in text}
    assert named == set(MAY_NAME_THE_OTHER)


def test_no_image_is_built_on_a_base_that_can_change() -> None:
    base = (ROOT / "deploy/base-image").read_text()
    assert re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}\n", base)
    files = {path: text for path, text in TEXTS if Path(path).name.startswith("Dockerfile")}
    assert len(files) == 3
    for path, text in files.items():
        stages = re.findall(r"^FROM \S+ AS (\w+)$", text, re.M)
        bases = set(re.findall(r"^FROM (\S+)", text, re.M))
        assert "${BASE}" in bases <= {"${BASE}", *stages}, path
        assert re.findall(r"^ARG BASE.*$", text, re.M) == ["ARG BASE"], path
    floating = re.compile(r"\bpython:3\.[\w.-]+(?!\S*@sha256)")
    assert [
        path
        for path, text in TEXTS
        if path.startswith("deploy/") and path != "deploy/base-image" and floating.search(text)
    ] == []


def test_images_have_the_pytorch_that_the_tests_run_with() -> None:
    tested = re.search(r"^TORCH_PACKAGES := torch==(\S+)", (ROOT / "Makefile").read_text(), re.M)
    built = re.search(r"TORCH-([\d.]+)\}", (ROOT / "deploy/build-image").read_text())
    assert tested is not None
    assert built is not None
    assert built[1] == tested[1]


@pytest.mark.parametrize("part", ["task-cpu", "task-rocm"])
def test_an_image_for_other_devices_than_cuda_needs_the_index_of_pytorch(part: str) -> None:
    done = subprocess.run(
        [str(ROOT / "deploy/build-image"), part, "x"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"TORCH_INDEX_{part[5:].upper()} is not set" in done.stderr
    assert "or TORCH= for an image without PyTorch" in done.stderr


@pytest.mark.parametrize(
    ("image", "is_default"),
    [
        *((image, True) for image in DEFAULT_IMAGES.values()),
        (f"{images.REGISTRY}/determined-task-cuda:0.9", True),
        ("determinedai/pytorch-ngc-dev:0736b6d", True),
        ("determinedai/environments:rocm-5.6-pytorch-1.3-tf-2.10-rocm-mpich-0736b6d", True),
        (f"{images.REGISTRY}/determined-agent:{VERSION}", False),
        ("registry.example/determined-task-cpu:1", False),
        ("", False),
    ],
)
def test_images_that_nobody_has_chosen_are_recognized(image: str, is_default: bool) -> None:
    assert images.is_default_of_tasks(image) is is_default
