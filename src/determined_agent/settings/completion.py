"""Scripts by which shells complete the agent's options."""

from __future__ import annotations

from collections.abc import Sequence

SHELLS = ("bash", "zsh")
_BASH = 'complete -o default -W "{words}" determined-agent\n'
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + _BASH


def completion_script(shell: str, flags: Sequence[str]) -> str:
    """What a user of that shell sources, `source <(determined-agent completion bash)`.

    Args:
        shell: one of SHELLS.
        flags: all that are known.
    """
    words = " ".join(["run", "version", "help", "completion", *flags])
    return (_BASH if shell == "bash" else _ZSH).format(words=words)
