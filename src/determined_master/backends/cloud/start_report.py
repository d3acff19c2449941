"""The functions with which a start script calls the master and reports its steps. Pure.

The join token goes through a pipe, so that no list of processes shows it.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from determined_master.backends.cloud.start_script import Boot

_REPORT = r"""
master={url}
ask() {{ # ARGUMENTS OF CURL
    printf 'header = "Authorization: Bearer %s"\n' "$(cat "$place/join_token")" |
        curl --config - --noproxy '*' --silent --fail{options} "$@"
}}

report() {{ # [REASON OF A FAILURE]: to the master, which ends a machine that cannot start
    command -v curl >/dev/null || return 0
    [ -n "${{agent_id:-}}" ] || agent_id=$({agent_id} 2>/dev/null) || return 0
    local word failed=false tries=1
    word=$(printf %s "${{1:-}}" | tr -c '[:print:]' ' ' | tr '"\\' "'/" | tail -c 400)
    [ $# -eq 0 ] || {{ failed=true && tries=6; }}
    # A machine may start before the master has noted that it was launched.
    while ! ask --max-time 5 --header 'Content-Type: application/json' \
        --data "{{\"pool\": \""{pool}"\", \"agent_id\": \"$agent_id\", \
\"step\": \"$step\", \"failed\": $failed, \"detail\": \"$word\"}}" \
        "$master/agents/starts" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 0
        sleep 5
    done
}}

at() {{ # STEP
    step=$1
    report
}}
"""


def report_functions(boot: Boot) -> str:
    """The function that reports to the master; nothing of it is secret."""
    scheme = "https" if boot.has_tls else "http"
    host, options = boot.master_host, []
    if boot.has_tls and boot.master_cert:
        options.append('--cacert "$place/master.crt"')
    if boot.has_tls and boot.master_cert_name:
        host = boot.master_cert_name
        to = f"{host}:{boot.master_port}:{boot.master_host}:{boot.master_port}"
        options.append(f"--connect-to {shlex.quote(to)}")
    if not boot.join_token:
        return "\nmaster=\nask() { :; }\nreport() { :; }\nat() { step=$1; }\n"
    return _REPORT.format(
        agent_id=boot.identity.agent_id,
        options="".join(f" {each}" for each in options),
        pool=shlex.quote(msgspec.json.encode(boot.resource_pool).decode()[1:-1]),
        url=shlex.quote(f"{scheme}://{host}:{boot.master_port}"),
    )
