"""Messages of the rules that clients show before the master applies them."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Message


class GetRulesRequest(Message, frozen=True):
    """Asks for all rules."""


class PasswordRule(Message, frozen=True):
    """A new password matches `pattern`; `text` says what to give."""

    pattern: str = ""
    text: str = ""


class StateRule(Message, frozen=True):
    """Names of states without `STATE_`."""

    unended: Sequence[str] = ()
    """Of experiments that run or request something, or could."""
    changing: Sequence[str] = ()
    """Of experiments, trials and tasks about which a page asks again."""


class GetRulesResponse(Message, frozen=True):
    """The same for every caller."""

    password: PasswordRule = PasswordRule()
    states: StateRule = StateRule()
