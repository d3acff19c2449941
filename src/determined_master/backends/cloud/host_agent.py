"""The part of a start script that runs the agent on the machine itself, without an image. Pure.

The agent of the machine's image is used if there is one. Otherwise the master's wheel is installed
into an environment of its own, with the versions that it locks, from the master's wheels or from
pip's package index; on Debian and Ubuntu, Docker,
Python's venv and, beside NVIDIA's driver, its container toolkit are installed too if they are
missing.
"""

from __future__ import annotations

from collections.abc import Iterable

from determined_master.backends.cloud import agent_ends
from determined_master.backends.cloud.machine_journal import JournalTarget

TOOLKIT_REPOSITORY = "https://nvidia.github.io/libnvidia-container"
"""NVIDIA's packages for apt, with which Docker gives GPUs to containers."""

_TOOLKIT = r"""
install_toolkit() {
    at toolkit
    command -v apt-get >/dev/null || fail "this machine has NVIDIA GPUs and not the NVIDIA \
Container Toolkit, and no apt-get to install it: use an image that has it"
    local apt="${DETERMINED_ROOT:-}/etc/apt"
    local key="$apt/keyrings/nvidia-container-toolkit.asc"
    mkdir -p "$apt/keyrings" "$apt/sources.list.d"
    said=$(curl --silent --show-error --fail --location --retry 5 --max-time 120 --output "$key" \
        {repository}/gpgkey 2>&1) ||
        fail "the key of NVIDIA's packages cannot be fetched: use an image that has the NVIDIA \
Container Toolkit, or let machines reach its repository" "$said"
    chmod 644 "$key"
    # apt fills in the architecture.
    echo "deb [signed-by=$key] {repository}/stable/deb/\$(ARCH) /" \
        >"$apt/sources.list.d/nvidia-container-toolkit.list"
    said=$(apt-get update -qq 2>&1 >/dev/null &&
        apt-get install -qq -y nvidia-container-toolkit 2>&1 >/dev/null) ||
        fail "the NVIDIA Container Toolkit could not be installed" "$said"
    # Docker looks for the toolkit when it starts. Nothing runs in it yet.
    said=$(nvidia-ctk runtime configure --runtime=docker 2>&1 >/dev/null && restart_docker 2>&1) ||
        fail "Docker could not be restarted with the NVIDIA Container Toolkit" "$said"
    echo "determined: the NVIDIA Container Toolkit is installed"
}
restart_docker() {
    if has_systemd; then
        systemctl restart docker
    else
        service docker restart
    fi
}
"""
_INSTALL = r"""
at packages
agent=$(command -v determined-agent || true)
if [ -z "$agent" ]; then
    export DEBIAN_FRONTEND=noninteractive
    if ! command -v docker >/dev/null || ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        command -v apt-get >/dev/null || fail "this machine lacks Docker or Python's venv, and \
has no apt-get to install them: use an image that has both, or one of Debian or Ubuntu"
        said=$(apt-get update -qq 2>&1 >/dev/null &&
            apt-get install -qq -y docker.io python3-venv 2>&1 >/dev/null) ||
            fail "Docker and Python's venv could not be installed" "$said"
    fi
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "this machine's python3 is older than 3.11: use an image with a newer one"
    if command -v nvidia-smi >/dev/null && ! command -v nvidia-container-runtime >/dev/null; then
        install_toolkit
    fi

    at wheel
    rm -rf "$place/wheel" && mkdir "$place/wheel"
    said=$(cd "$place/wheel" && ask --show-error --retry 5 --remote-name --remote-header-name \
        "$master/agent/wheel" 2>&1) || fail "the master does not give the agent's wheel" "$said"
    python3 -m venv "$place/environment"
    wheel=$(ls "$place/wheel/"*.whl)
    python=$place/environment/bin/python
    # The wheel has the versions and the hashes of what it needs.
    PYTHONPATH=$wheel${PYTHONPATH:+:$PYTHONPATH} "$python" -m determined_wire.locked {extras} \
        >"$place/wheel/locked.txt"
    pip_install() {
        "$python" -m pip install --quiet --disable-pip-version-check "$@" 2>&1 >/dev/null
    }
    # Empty, unless the master has a directory of wheels.
    said=$(ask --show-error --retry 5 --output "$place/wheel/packages.tar" \
        "$master/agent/packages" 2>&1) ||
        fail "the master does not give the agent's packages: see its log" "$said"
    mkdir "$place/wheel/packages"
    "$python" -m tarfile --extract "$place/wheel/packages.tar" "$place/wheel/packages"
    from="pip's package index" options=()
    if [ -n "$(ls "$place/wheel/packages")" ]; then
        from="the wheels of the master's setting wheelhouse"
        options=(--no-index --find-links "$place/wheel/packages")
    fi
    said=$(pip_install ${options[@]+"${options[@]}"} --require-hashes --only-binary :all: \
        -r "$place/wheel/locked.txt") ||
        fail "the agent's packages cannot be installed from $from" "$said"
    said=$(pip_install --no-index --no-deps "$wheel") ||
        fail "the agent's wheel cannot be installed" "$said"
    agent=$place/environment/bin/determined-agent
fi
"""
_LAST_LINES = """if has_systemd; then
        journalctl --sync
        # Its own lines, without those of systemd about it.
        journalctl --quiet --no-pager --output cat --lines 20 \\
            _SYSTEMD_UNIT=determined-agent.service
    else
        tail -n 20 "$place/agent.log"
    fi"""
_START = r"""
{{
    echo '#!/bin/bash'
    # systemd gives none, and the script may configure what reads files below it.
    echo 'export HOME="${{HOME:-$(echo ~)}}"'
{exports}
    if [ -e "$place/container_startup_script" ]; then
        printf 'script=%q\n' "$place/container_startup_script"
        cat <<'END'
code=0
if [ -x "$script" ]; then "$script"; else bash "$script"; fi || code=$?
if [ "$code" -ne 0 ]; then
    echo "the container startup script ended with exit code $code: no agent is started; mend \
provider.container_startup_script" >&2
    exit 1
fi
END
    fi
    printf 'exec %q run\n' "$agent"
}} | install_program "$place/run_agent"
if has_systemd; then
    said=$(run_service determined-agent "$place/run_agent" 5 "The agent of Determined" \
        "ExecStopPost=$place/agent_ended" 2>&1) ||
        fail "the agent's service could not be started" "$said"
else
    (umask 077 && : >>"$place/agent.log")
    # It outlives this script, and is started again when it ends.
    (
        trap - EXIT
        exec </dev/null >>"$place/agent.log" 2>&1
        while :; do
            code=0
            "$place/run_agent" || code=$?
            "$place/agent_ended" "$code" || true
            sleep 5
        done
    ) &
    disown
fi
echo "determined: the agent is started"
"""


def install(journal: JournalTarget | None) -> str:
    """Shell commands that leave the agent's command in `agent`."""
    sends = [journal.extra] if journal and journal.extra else []
    extras = " ".join(["base", "agent", "storage", *sends])
    toolkit = _TOOLKIT.replace("{repository}", TOOLKIT_REPOSITORY)
    return toolkit + _INSTALL.replace("{extras}", extras)


def start(variables: Iterable[tuple[str, str]]) -> str:
    """Shell commands that run it with these variables, whose values are shell words."""
    exports = "\n".join(f"    printf 'export {name}=%q\\n' {word}" for name, word in variables)
    return agent_ends.note_ends(_LAST_LINES) + _START.format(exports=exports)
