"""The agent's command line, made from the definitions of its options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from determined_wire.release import VERSION
from determined_wire.settings_options import Option
from determined_wire.settings_reader import SettingsParser, SettingValue, add_flag, given_flags

DEFAULT_FILE = "/etc/determined/agent.yaml"
COMMANDS = ("run", "version", "help", "completion")
SHELLS = ("bash", "zsh")
_BASH = 'complete -o default -W "{words}" determined-agent\n'
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + _BASH


def parse_command_line(options: Sequence[Option], argv: Sequence[str]) -> dict[str, SettingValue]:
    """Read the flags, by the names of their options; `config_file` is one of them.

    Raises:
        SystemExit: for `--help`, `version`, `completion` and unknown flags.
    """
    scalars = [option for option in options if option.is_scalar]
    parser = _parser(scalars)
    parsed = parser.parse_args(argv)
    command, shell = parsed.command, getattr(parsed, "shell", None)
    if (command == "completion") != bool(shell):
        parser.error(f"completion needs a shell: one of {', '.join(SHELLS)}")
    if getattr(parsed, "version", False) or command == "version":
        sys.stdout.write(f"determined-agent {VERSION}\n")
        raise SystemExit(0)
    if command == "help":
        parser.print_help()
        raise SystemExit(0)
    if shell:
        flags = ["--config-file", *(option.flag for option in options)]
        sys.stdout.write(completion_script(shell, flags))
        raise SystemExit(0)
    values = given_flags(scalars, parsed)
    if file := getattr(parsed, "config_file", None):
        values["config_file"] = SettingValue(file, "--config-file")
    return values


def completion_script(shell: str, flags: Sequence[str]) -> str:
    """Return the script for `source <(determined-agent completion bash)`.

    Args:
        shell: one of SHELLS.
        flags: all known flags.
    """
    words = " ".join(["run", "version", "help", "completion", *flags])
    return (_BASH if shell == "bash" else _ZSH).format(words=words)


def _parser(scalars: Sequence[Option]) -> SettingsParser:
    parser = SettingsParser(
        prog="determined-agent",
        usage="determined-agent [OPTION ...] [run|version|help|completion SHELL]",
        description="The agent that runs a Determined cluster's tasks on this machine.",
        epilog=(
            "Every option can also be given by its DET_* variable (--log-level, DET_LOG_LEVEL) or "
            "in the file. A flag wins over a variable, a variable over the file."
        ),
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("command", nargs="?", choices=COMMANDS, default="run")
    parser.add_argument("shell", nargs="?", choices=SHELLS, default=None, help="of completion")
    parser.add_argument(
        "--config-file", help=f"File of options, or DET_CONFIG_FILE (default: {DEFAULT_FILE})"
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    for option in scalars:
        add_flag(parser, option, *(("-l",) if option.name == "log.level" else ()))
    return parser
