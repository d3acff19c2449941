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


class ActionRequest(Message, frozen=True):
    """The route of an action on many experiments or trials."""

    method: str = ""
    path: str = ""


class ActionRule(Message, frozen=True):
    """An action, its conditions and its words. An empty `inverse` is none."""

    id: str = ""
    label: str = ""
    done: str = ""
    needs: str = ""
    states: Sequence[str] = ()
    otherwise: str = ""
    archived: bool | None = None
    includes_detached: bool = False
    includes_parts: bool = False
    inverse: str = ""
    warning: str = ""
    is_destructive: bool = False
    experiments: ActionRequest = ActionRequest()
    trials: ActionRequest | None = None


class ActionRules(Message, frozen=True):
    """The actions on experiments in the order of menus, and reasons that all of them have."""

    actions: Sequence[ActionRule] = ()
    detached: str = ""
    part: str = ""
    in_archive: str = ""


class TaskActionRule(Message, frozen=True):
    """An action on tasks, its conditions and its words."""

    id: str = ""
    label: str = ""
    done: str = ""
    states: Sequence[str] = ()
    otherwise: str = ""
    is_generic: bool = False


class TaskRules(Message, frozen=True):
    """The actions on tasks; one permission of `needs` is enough."""

    needs: Sequence[str] = ()
    actions: Sequence[TaskActionRule] = ()
    no_pause: str = ""
    not_generic: str = ""


class QueueRules(Message, frozen=True):
    """The permissions of which a user needs one to change the queue, besides those of the job."""

    needs: Sequence[str] = ()
    needs_if_strict: Sequence[str] = ()
    """Where `strict_job_queue_control` is set."""


class GetRulesResponse(Message, frozen=True):
    """The same for every caller."""

    password: PasswordRule = PasswordRule()
    states: StateRule = StateRule()
    experiments: ActionRules = ActionRules()
    tasks: TaskRules = TaskRules()
    queue: QueueRules = QueueRules()
