"""The script that runs when a machine starts, and starts an agent on it. Pure.

The agent runs as a Docker container of the pool's image, or without one on the machine itself
(`host_agent.py`). Texts of the admin are
encoded as base64, so that nothing in them can end a quotation. The script's output goes to the
cloud's console log, which many people may read. So it prints no file, and the join token is in a
file that only root can read, never in a variable that `docker inspect` shows.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterator
from typing import Literal

import msgspec

from determined_master.backends.cloud import (
    agent_ends,
    host_agent,
    machine_journal,
    machine_proxies,
    machine_services,
)
from determined_master.backends.cloud.start_report import report_functions

PLACE = "/usr/local/determined"
"""The directory of the script's files, on the machine and in the agent's image."""
CONTAINER = "determined-agent"
DOCKER_PATIENCE_S = 120

SlotType = Literal["cuda", "cpu", "none"]


class Identity(msgspec.Struct, frozen=True):
    """Shell commands that print the identity of a machine, as its cloud reports it."""

    agent_id: str
    """The id by which the cloud lists the machine; it connects agents with machines."""
    address: str
    """The address at which the cluster's other machines reach it."""
    cloud: str = ""
    """Whose metadata service announces the end of a machine: `aws`, `gcp`, or none."""


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """Facts for the machines of one pool."""

    resource_pool: str
    image: str
    master_host: str = ""
    """Empty or an alias until the provider has looked it up."""
    master_port: int
    identity: Identity = Identity("", "")
    slot_type: SlotType = "none"
    has_tls: bool = False
    master_cert: str = ""
    """PEM of further trusted authorities, besides those of the agent's image."""
    master_cert_name: str = ""
    join_token: str = ""
    network: str = "host"
    runtime: str = "runc"
    log_options: tuple[str, ...] = ()
    """Arguments of `docker run` for the destination of the agent's own output."""
    journal: machine_journal.JournalTarget | None = None
    """Of the whole machine; `log_options` send the output of the agent's container."""
    reconnect_attempts: int = 5
    reconnect_backoff_s: int = 5
    startup_script: str = ""
    container_startup_script: str = ""
    agent_config: str = ""
    """Content of the agent's agent.yaml."""
    proxies: tuple[tuple[str, str], ...] = ()
    """Variables of the machine's own downloads."""


_HEAD = f"""#!/bin/bash
# Makes an agent of this machine. It prints neither its files nor its variables: they hold secrets.
set -euo pipefail

step=startup_script
fail() {{ # REASON [WORDS OF WHAT FAILED]
    echo "determined: $1${{2:+: $2}}" >&2
    has_said=1
    report "${{2:-$1}}"
    exit 1
}}
trap 'code=$?; [ "$code" -eq 0 ] || [ -n "${{has_said:-}}" ] || report "exit code $code"' EXIT

write() {{ # MODE PATH, content as base64 from the standard input
    (umask 077 && base64 -d >"$2.new") && chmod "$1" "$2.new" && mv "$2.new" "$2"
}}

place="${{DETERMINED_ROOT:-}}{PLACE}"
mkdir -p "$place"
chmod 755 "$place"
"""
_IDENTITY = """
at identity
agent_id=$({agent_id}) && [ -n "$agent_id" ] || fail "the cloud does not report this machine's id"
address=$({address}) || fail "the cloud does not report this machine's address"
"""
_STARTUP = """
at startup_script
echo "determined: running the startup script"
code=0
"$place/startup_script" || code=$?
[ "$code" -eq 0 ] || fail "the startup script ended with exit code $code: no agent is started; \
mend provider.startup_script"
"""
_WAIT = f"""
at docker
waited=0
until docker version >/dev/null 2>&1; do
    [ "$waited" -lt {DOCKER_PATIENCE_S} ] ||
        fail "Docker does not answer on this machine: use an image that has it"
    waited=$((waited + 2))
    sleep 2
done
"""
_REMOVE = f"""
# From an earlier start of this machine; tasks have containers of their own.
docker rm --force {CONTAINER} >/dev/null 2>&1 || true

more=()
# With these the agent can switch the machine off: hooks.on_connection_lost.
for path in /sbin/shutdown /run/systemd/system /run/dbus/system_bus_socket; do
    if [ -e "$path" ]; then
        more+=(--volume "$path:$path")
    fi
done
"""
_PULL = """
at image
pull() {{
    said=$(docker pull --quiet {image} 2>&1 >/dev/null)
}}
pause=2
until docker image inspect {image} >/dev/null 2>&1 || pull; do
    [ "$pause" -le 32 ] ||
        fail "the agent's image cannot be pulled: see provider.agent_docker_image" "$said"
    sleep "$pause"
    pause=$((pause * 2))
done
"""
_RUN = """
said=$(docker run --detach \\
{arguments} \\
    ${{more[@]+"${{more[@]}}"}} \\
    {image} 2>&1 >/dev/null) || fail "the agent's container could not be started" "$said"
echo "determined: the agent's container is started"
"""
_LAST_LINES = f"docker logs --tail 20 {CONTAINER} 2>&1"
_WATCH = rf"""
install_program "$place/watch_agent" <<'END'
#!/bin/bash
# Docker starts the agent again whenever it ends. Each end is noted.
while code=$(docker wait {CONTAINER}) && [ -n "$code" ]; do
    "${{0%/*}}/agent_ended" "$code"
done
END
if has_systemd; then
    said=$(run_service determined-agent-watch "$place/watch_agent" 5 \
        "Reports the ends of Determined's agent" 2>&1) ||
        echo "determined: ends of the agent are not reported: $said"
else
    (trap - EXIT && exec "$place/watch_agent" </dev/null >/dev/null 2>&1) &
    disown
fi
"""


def start_script(boot: Boot) -> str:
    """The whole script, for bash 4 and later, run as root.

    Running it again, as GCP does at each start of a machine, replaces the agent's container. When
    no agent can be started it ends with code 1 and one line with the reason.
    """
    parts = [_HEAD, report_functions(boot), machine_services.functions()]
    for name, content in _files(boot):
        # A script with a shebang runs by its interpreter, any other by a shell.
        parts.append(_file(name, content, mode=700 if content.startswith("#!") else 600))
    if boot.proxies:
        parts += [_file(*each, mode=600) for each in machine_proxies.files(boot.proxies)]
        parts.append(machine_proxies.use())
    if boot.startup_script:
        parts += [_file("startup_script", boot.startup_script, mode=700), _STARTUP]
    identity = boot.identity
    parts.append(_IDENTITY.format(agent_id=identity.agent_id, address=identity.address))
    if not boot.image:
        words = _variables(boot, '"$place"/')
        parts += [host_agent.install(boot.journal), _WAIT]
        parts.append(host_agent.start(words))
        if boot.journal is not None:
            parts.append(machine_journal.from_machine(boot.journal))
        return "".join(parts)
    parts += [_WAIT, _REMOVE]
    parts.append(_PULL.format(image=shlex.quote(boot.image)))
    arguments = " \\\n".join(f"    {line}" for line in _arguments(boot))
    parts.append(agent_ends.note_ends(_LAST_LINES))
    parts.append(_RUN.format(arguments=arguments, image=shlex.quote(boot.image)))
    parts.append(_WATCH)
    if boot.journal is not None:
        has_gpus = boot.slot_type == "cuda"
        journal = machine_journal.from_container(boot.journal, boot.image, has_gpus=has_gpus)
        parts.append(journal)
    return "".join(parts)


def _files(boot: Boot) -> Iterator[tuple[str, str]]:
    """The files that the container reads: name below `PLACE`, and content."""
    if boot.join_token:
        yield "join_token", boot.join_token
    if boot.has_tls and boot.master_cert:
        yield "master.crt", boot.master_cert
    if boot.container_startup_script:
        yield "container_startup_script", boot.container_startup_script
    if boot.agent_config:
        yield "agent.yaml", boot.agent_config


def _variables(boot: Boot, place: str = f"{PLACE}/") -> Iterator[tuple[str, str]]:
    """The agent's options as shell words; none of them is secret.

    Args:
        boot: facts of the pool.
        place: a shell word before the names of its files.
    """
    yield "DET_AGENT_ID", '"$agent_id"'
    yield "DET_ADVERTISED_ADDRESS", '"$address"'
    yield "DET_MASTER_HOST", shlex.quote(boot.master_host)
    yield "DET_MASTER_PORT", str(boot.master_port)
    yield "DET_RESOURCE_POOL", shlex.quote(boot.resource_pool)
    yield "DET_SLOT_TYPE", boot.slot_type
    if boot.identity.cloud:
        yield "DET_MACHINE_CLOUD", boot.identity.cloud
    yield "DET_AGENT_RECONNECT_ATTEMPTS", str(boot.reconnect_attempts)
    yield "DET_AGENT_RECONNECT_BACKOFF", str(boot.reconnect_backoff_s)
    if boot.join_token:
        yield "DET_JOIN_TOKEN_FILE", f"{place}join_token"
    if boot.agent_config:
        yield "DET_CONFIG_FILE", f"{place}agent.yaml"
    if not boot.has_tls:
        return
    yield "DET_SECURITY_TLS_ENABLED", "true"
    if boot.master_cert:
        yield "DET_SECURITY_TLS_MASTER_CERT", f"{place}master.crt"
    if boot.master_cert_name:
        yield "DET_SECURITY_TLS_MASTER_CERT_NAME", shlex.quote(boot.master_cert_name)


def _arguments(boot: Boot) -> Iterator[str]:
    yield f"--name {CONTAINER} --init --privileged --restart always"
    yield f"--network {shlex.quote(boot.network)} --runtime {shlex.quote(boot.runtime)}"
    if boot.slot_type == "cuda":
        yield "--gpus all"
    if boot.log_options:
        yield " ".join(shlex.quote(option) for option in boot.log_options)
    for name, word in _variables(boot):
        yield f"--env {name}={word}"
    yield "--volume /var/run/docker.sock:/var/run/docker.sock"
    yield "--volume /var/lib/determined:/var/lib/determined"
    for name, _ in _files(boot):
        yield f'--volume "$place/{name}:{PLACE}/{name}:ro"'


def _file(name: str, content: str, *, mode: int) -> str:
    coded = base64.encodebytes(content.encode()).decode()
    return f"\nwrite {mode} \"$place/{name}\" <<'END'\n{coded}END\n"
