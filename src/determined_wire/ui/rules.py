"""Messages of the rules that clients show before the master applies them."""

from __future__ import annotations

from determined_wire.proto import Message


class GetRulesRequest(Message, frozen=True):
    """Asks for all rules."""


class PasswordRule(Message, frozen=True):
    """A new password matches `pattern`; `text` says what to give."""

    pattern: str = ""
    text: str = ""


class GetRulesResponse(Message, frozen=True):
    """The same for every caller."""

    password: PasswordRule = PasswordRule()
