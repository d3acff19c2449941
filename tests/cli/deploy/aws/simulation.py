"""What moto lacks of STS and IAM: callers of all kinds, and the simulator of policies."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any
from xml.sax.saxutils import escape

USER = "arn:aws:iam::123456789012:user/ops"
PAGE = 2
"""Results of one answer, so that pages must be followed."""


class Simulation:
    """The caller, and how its policies decide."""

    def __init__(self) -> None:
        self.caller = USER
        self.is_permitted = True
        """Whether the caller may use the simulator."""
        self.decisions: dict[str, str] = {}
        """By a pattern of actions: an element of an answer; all else is allowed."""
        self.asked: dict[str, str] = {}
        """The resource of each action that was asked for."""
        self.sources: set[str] = set()
        """Whose policies were asked for."""

    def answer(self, call: Mapping[str, str]) -> bytes | None:
        """The answer to a call; None for one of moto's."""
        action = call.get("Action", "")
        if action == "GetCallerIdentity":
            return _of(action, f"<Arn>{self.caller}</Arn>")
        if action != "SimulatePrincipalPolicy":
            return None
        if not self.is_permitted:
            raise PermissionError("not authorized to perform: iam:SimulatePrincipalPolicy")
        actions = [call[key] for key in sorted(call) if key.startswith("ActionNames.member.")]
        [resource] = [call[key] for key in call if key.startswith("ResourceArns.member.")]
        self.sources.add(call["PolicySourceArn"])
        self.asked |= dict.fromkeys(actions, resource)
        start = int(call.get("Marker") or 0)
        shown = "".join(map(self._result, actions[start : start + PAGE]))
        is_cut = start + PAGE < len(actions)
        marker = f"<Marker>{start + PAGE}</Marker>" if is_cut else ""
        cut = f"<IsTruncated>{str(is_cut).lower()}</IsTruncated>{marker}"
        return _of(action, f"{cut}<EvaluationResults>{shown}</EvaluationResults>")

    def _result(self, action: str) -> str:
        found = [text for pattern, text in self.decisions.items() if fnmatchcase(action, pattern)]
        decision = found[0] if found else "<EvalDecision>allowed</EvalDecision>"
        return f"<member><EvalActionName>{action}</EvalActionName>{decision}</member>"


def refusal(reason: Any) -> bytes:
    """The body of an answer of IAM that refuses a call."""
    error = f"<Type>Sender</Type><Code>AccessDenied</Code><Message>{escape(str(reason))}</Message>"
    return f"<ErrorResponse><Error>{error}</Error></ErrorResponse>".encode()


def _of(action: str, content: str) -> bytes:
    result = f"<{action}Result>{content}</{action}Result>"
    return f"<{action}Response>{result}</{action}Response>".encode()
