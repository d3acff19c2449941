"""The part of a start script that sends the machine's journal and load to its cloud. Pure.

The service runs beside the agent: on the machine itself, or in a container of the agent's image.
An agent that works is worth more than its journal, so a failure is printed and stops nothing.
"""

from __future__ import annotations

import shlex

import msgspec

_ON_MACHINE = r"""
if has_systemd; then
    # The Python of the agent: its own environment, or that of the image's command.
    python=$place/environment/bin/python
    [ -x "$python" ] || python=$(sed -n '1s/^#!//p' "$agent")
    {{
        echo '#!/bin/bash'
        printf 'exec %q -m determined_agent.journal' "$python"
        printf ' %q' {words}
    }} | install_program "$place/send_journal"
    said=$(run_service determined-journal "$place/send_journal" 30 \
        "The journal and the load of this machine to {name}" 2>&1) ||
        echo "determined: the journal does not go to {name}: $said"
else
    echo "determined: the journal does not go to {name}: this machine has no systemd"
fi
"""
_IN_CONTAINER = r"""
docker rm --force {container} >/dev/null 2>&1 || true
if has_systemd; then
    # The image has no journalctl: that of the machine reads the machine's journal.
    said=$(docker run --detach --init --restart always --name {container} \
        --network host{gpus} --security-opt label=disable --volume /:/machine:ro \
        --volume /var/lib/{container}:/var/lib/{container} \
        --entrypoint python3 {image} -m determined_agent.journal \
        --journalctl "chroot /machine journalctl" {words} 2>&1 >/dev/null) ||
        echo "determined: the journal does not go to {name}: $said"
else
    echo "determined: the journal does not go to {name}: this machine has no systemd"
fi
"""
CONTAINER = "determined-journal"


class JournalTarget(msgspec.Struct, frozen=True):
    """Where the machine's journal goes."""

    name: str
    """The cloud's service in messages."""
    words: tuple[str, ...]
    """Arguments of `determined_agent.journal`; an empty one is the id of the machine."""
    extra: str = ""
    """Of the wheel, that the service needs."""


def cloudwatch(group: str, stream: str, region: str) -> JournalTarget:
    """CloudWatch; without a stream, the machine's is its id."""
    words = ("cloudwatch", "--group", group, "--stream", stream, "--region", region)
    return JournalTarget("CloudWatch", words, "aws")


CLOUD_LOGGING = JournalTarget("Cloud Logging", ("google",))
"""Google's; the service finds all else in the metadata of its machine."""


def from_machine(target: JournalTarget) -> str:
    """Shell commands that run the service beside an agent without a container."""
    return _ON_MACHINE.format(name=target.name, words=_words(target))


def from_container(target: JournalTarget, image: str, *, has_gpus: bool) -> str:
    """Shell commands that run the service in a container of the agent's image."""
    return _IN_CONTAINER.format(
        container=CONTAINER,
        name=target.name,
        image=shlex.quote(image),
        gpus=" --gpus all" if has_gpus else "",
        words=_words(target),
    )


def _words(target: JournalTarget) -> str:
    return " ".join(shlex.quote(word) if word else '"$agent_id"' for word in target.words)
