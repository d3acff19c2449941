"""The part of a start script that reports an agent that ends again and again. Pure.

The start of a machine ends before its agent runs: the agent's startup script may fail then, its
settings, Docker, or the master may refuse it. Each end is passed to a program that the start
script leaves behind. The third end in a row is reported to the master with the agent's last lines.
The master ends a machine whose agent has never joined.
"""

from __future__ import annotations

MAX_ENDS = 3
"""In a row. A registry or Docker may be away for a moment at the first one."""
QUICK_S = 120
"""Ends that are further apart than this are not in a row."""
LAST_LINES = 8

_PROGRAM = rf"""
at agent
{{
    echo '#!/bin/bash'
    echo '# Takes an end of the agent: its exit code, or the variables of systemd.'
    declare -p place master agent_id
    declare -f ask report has_systemd last_lines
    cat <<'END'
umask 077
if [ "${{SERVICE_RESULT:-${{1:-1}}}}" = success ] || [ "${{1:-1}}" = 0 ]; then
    rm -f "$place/agent_ends" # it was stopped
    exit 0
fi
step=agent count=0 last=0 now=$(date +%s)
[ ! -e "$place/agent_ends" ] || read -r count last <"$place/agent_ends"
[ $((now - last)) -le {QUICK_S} ] || count=0
count=$((count + 1))
echo "$count $now" >"$place/agent_ends"
[ "$count" -lt {MAX_ENDS} ] || report "$(last_lines | tail -n {LAST_LINES})"
END
}} | install_program "$place/agent_ended"
rm -f "$place/agent_ends"
"""


def note_ends(last_lines: str) -> str:
    """Shell commands that write the program `agent_ended`.

    Args:
        last_lines: a shell command that prints the agent's last lines.
    """
    return f"\nlast_lines() {{\n    {last_lines}\n}}{_PROGRAM}"
