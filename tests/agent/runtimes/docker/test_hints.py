"""Error texts of daemons: whether the machine or the task is at fault, and the remedy."""

from __future__ import annotations

import pytest

from determined_agent.runtimes.docker.hints import is_machine_fault, with_hint


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("mkdir /data/overlay2/x: no space left on device", "data root is full"),
        ("accept4: too many open files", "raise the limit of open files"),
        ("fork/exec /usr/bin/runc: cannot allocate memory", "no memory left"),
        ("dial unix /run/containerd/containerd.sock: connect: refused", "containerd runs"),
    ],
)
def test_faults_of_the_machine_have_a_remedy(text: str, remedy: str) -> None:
    assert is_machine_fault(text)
    assert remedy in with_hint(text)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('exec: "python3": executable file not found in $PATH: unknown', "DET_PYTHON_EXECUTABLE"),
        ("network nowhere not found", "task_container_defaults.network_mode"),
        ('error gathering device information while adding "/dev/x"', "resources.devices"),
        ('invalid CapAdd: unknown capability: "CAP_FLY"', "environment.add_capabilities"),
        ("path /a is mounted on / but it is not a shared or slave mount", "bind_mounts.prop"),
        ("Get https://h/v2/: unauthorized: incorrect username or password", "registry_auth"),
        ("Get https://h/v2/: no basic auth credentials", "set environment.registry_auth"),
        ("manifest for h/a:9 not found: manifest unknown", "there is no such tag"),
        ("dial tcp: lookup h: no such host", "cannot resolve"),
        ("unexpected EOF", "continues the download"),
    ],
)
def test_faults_of_the_task_name_the_option(text: str, remedy: str) -> None:
    assert not is_machine_fault(text)
    assert remedy in with_hint(text)


def test_an_unknown_text_is_unchanged() -> None:
    assert with_hint("the moon is full.") == "the moon is full."
