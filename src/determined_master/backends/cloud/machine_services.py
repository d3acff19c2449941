"""The part of a start script that runs programs as services of the machine. Pure."""

from __future__ import annotations

_FUNCTIONS = r"""
has_systemd() {
    [ -d "${DETERMINED_ROOT:-}/run/systemd/system" ]
}
install_program() { # PATH, content from the standard input
    (umask 077 && cat >"$1.new") && chmod 700 "$1.new" && mv "$1.new" "$1"
}
run_service() { # NAME PROGRAM PAUSE_S DESCRIPTION [LINE]: restarts it; it starts with the machine
    cat >"${DETERMINED_ROOT:-}/etc/systemd/system/$1.service" <<END
[Unit]
Description=$4
After=network-online.target docker.service
Wants=network-online.target docker.service
[Service]
ExecStart=$2
Restart=always
RestartSec=$3
${5:-}
[Install]
WantedBy=multi-user.target
END
    systemctl daemon-reload && systemctl enable "$1.service" && systemctl restart "$1.service"
}
"""


def functions() -> str:
    """Shell functions with which the other parts run services."""
    return _FUNCTIONS
