"""Sentences of stories: one event of the journal in plain words."""

from __future__ import annotations

import collections
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from determined_master.domain.task.cause import FailureCause, sentence
from determined_master.records.stories import StoryLine

Level = Literal["info", "warning", "error"]
BY_USER = "request:"
_INTERNAL = frozenset(
    ("request_id", "allocation_id", "container_id", "experiment_id", "task_id", "task_ids",
     "trial_id", "job_id", "activate", "host_ip", "ports", "type", "session_id", "task_type",
     "name", "is_preemptible", "preemption_timeout_s", "requested_at", "submitted_at", "at",
     "weight")
)  # fmt: skip
"""Details that only somebody who looks into the master needs."""
_ERRORS = frozenset({"experiment_erred", "trial_erred", "effect_failed", "retries_canceled"})
_WARNINGS = frozenset(
    {
        "agent_excluded",
        "agent_lost",
        "collection_lost",
        "collection_waits",
        "detached_fell_silent",
        "early_exit_reported",
        "kill_expired",
        "kill_requested",
        "main_thread_ended",
        "master_unreachable",
        "preemption_expired",
        "refused",
        "room_lacked",
    }
)
_ENDS = {"clean": "completed"}
_WORDS: Mapping[str, str] = {
    "experiment_created": "was created",
    "experiment_detached": "was created by a program outside the cluster",
    "experiment_activated": "was activated",
    "experiment_paused": "was paused",
    "experiment_canceled": "was canceled: its trials may save their work",
    "experiment_killed": "was killed",
    "experiment_erred": "failed: {reason}",
    "experiment_continued": "was continued",
    "deletion_requested": "is being deleted",
    "collection_waits": "waits to delete checkpoints: {reason}",
    "search_grown": "created the trials of its last decision",
    "trial_created": "was created",
    "trial_continued": "was continued",
    "trial_activated": "may run",
    "trial_paused": "was paused",
    "trial_stopped": "was stopped: the search does not need it any more",
    "trial_canceled": "was canceled",
    "trial_killed": "was killed",
    "trial_erred": "failed: {reason}",
    "early_exit_reported": "reported that it exits early: {reason}",
    "retries_canceled": "is not restarted after its next failure: a line matches {pattern}",
    "agent_excluded": "does not run on agent {agent_id} any more: a line matches {pattern}",
    "room_lacked": "waits for other agents: {reason}",
    "allocation_requested": "was requested",
    "became_ready": "is ready",
    "began_waiting": "waits for something of its own",
    "master_unreachable": "cannot reach the master: {reason}",
    "master_reached": "has reached the master again",
    "main_thread_ended": "runs without its main thread: {reason}",
    "terms_changed": "has another place in the queue",
    "preempt_requested": "was asked to save its work and exit: {reason}",
    "preempt_acknowledged": "will save its work and exit",
    "preemption_expired": "did not exit in time",
    "kill_requested": "is being ended: {reason}",
    "kill_expired": "did not end in time: it is killed again",
    "refused": "cannot be scheduled: {reason}",
    "agent_lost": "lost agent {agent_id}",
    "effect_failed": "could not {effect}: {error}",
    "detached_run_started": "started an attempt",
    "detached_fell_silent": "has not reported for too long",
    "task_launched": "was launched",
    "task_created": "was submitted",
    "task_paused": "was paused",
    "task_unpaused": "continues",
    "task_killed": "is being ended",
}


def subject_of(line: StoryLine) -> str:
    """An attempt by its number in place of the id of its allocation."""
    if line.kind == "allocation":
        return f"attempt {line.id.rpartition('.')[2]}"
    return f"{'task' if line.kind == 'interactive' else line.kind} {line.id}"


def plain_text(line: StoryLine, trial_id: int = 0) -> str:
    """The event as a sentence; `trial_id` is the trial that a line of a search is about."""
    event, subject = line.event, subject_of(line)
    name = str(event.get("event", ""))
    match name:
        case "trial_ended":
            who = f"trial {trial_id}" if trial_id else "a trial"
            return f"{who} ended: {_ENDS.get(str(event.get('end')), _words(event.get('end')))}"
        case "validation_reported":
            who = f"trial {trial_id}" if trial_id else "a trial"
            return f"{who} reported a validation{_metric(event.get('metric'))}"
        case "assigned":
            return f"{subject} got slots on {_places(event.get('containers'))}"
        case "container_changed":
            return f"{subject} {_container(event)}"
        case "allocation_ended" | "run_ended":
            return f"{subject} ended an attempt: {_outcome(event)}"
    words = _WORDS.get(name)
    if words is None:
        return f"{subject}: {name.replace('_', ' ')}{_listed(event)}"
    fields = collections.defaultdict(str, {k: str(v) for k, v in event.items()})
    fields["effect"] = fields["effect"].replace("_", " ")
    return f"{subject} {words.format_map(fields)}".rstrip(": ")


def short_text(line: StoryLine, trial_id: int = 0, *, is_verbose: bool = False) -> str:
    """The event's name with its details, as `det ... story` prints it."""
    name = (
        f"{line.kind} {line.id}" if is_verbose or line.kind != "allocation" else subject_of(line)
    )
    text = f"{name}  {str(line.event.get('event', '')).replace('_', ' ')}"
    shown = [f"trial={trial_id}"] if trial_id else []
    shown += _details({k: v for k, v in line.event.items() if k != "event"}, is_verbose)
    if shown:
        text += f"  {' '.join(dict.fromkeys(shown))}"
    if is_verbose:
        text += f"  because of {line.cause}"
    elif user_of(line):
        text += f"  by user {user_of(line)}"
    names = [str(effect.get("effect", effect)).replace("_", " ") for effect in line.effects]
    if names and is_verbose:
        counted = collections.Counter(names)
        orders = (f"{name} ({count})" if count > 1 else name for name, count in counted.items())
        text += f"  -> {', '.join(orders)}"
    return text


def user_of(line: StoryLine) -> str:
    """The id of the user whose request caused the event; empty for the master's own acts."""
    return line.cause.split(":")[1] if line.cause.startswith(BY_USER) else ""


def level_of(line: StoryLine) -> Level:
    """How much the event needs attention."""
    event, name = line.event, str(line.event.get("event", ""))
    outcome = event.get("outcome")
    kind = outcome.get("kind") if isinstance(outcome, Mapping) else None
    end = event.get("end")
    ended = (
        str(end.get("kind") or end.get("state") or "") if isinstance(end, Mapping) else str(end)
    )
    if name in _ERRORS or kind == "failed" or (end and "err" in ended.lower()):
        return "error"
    if name in _WARNINGS or kind in ("lost", "killed", "refused") or event.get("failure"):
        return "warning"
    return "info"


def _details(detail: Mapping[str, Any], is_verbose: bool) -> Iterator[str]:
    """`name=value` for every set detail, by name, without the names of enclosing objects."""
    for name, value in sorted(detail.items()):
        if name in _INTERNAL and not is_verbose:
            continue
        if name == "cause" and (said := _said(detail)):
            yield f"cause={json.dumps(said)}"
        elif isinstance(value, dict):
            yield from _details(value, is_verbose)
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for item in value:
                yield from _details(item, is_verbose)
        elif isinstance(value, list) and value:
            yield f"{name}={json.dumps(_whole(value), separators=(',', ':'))}"
        elif value not in (None, "", [], {}):
            yield f"{name}={json.dumps(_whole(value))}"


def _whole(value: Any) -> Any:
    """Whole numbers without a fraction, as the API writes them."""
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _listed(event: Mapping[str, Any]) -> str:
    shown = ", ".join(_details({k: v for k, v in event.items() if k != "event"}, False))
    return f" ({shown})" if shown else ""


def _words(value: Any) -> str:
    """A value that may be an object: its texts."""
    if isinstance(value, Mapping):
        texts = [str(v) for v in value.values() if isinstance(v, str) and v]
        return ", ".join(texts).replace("_", " ")
    return str(value).replace("_", " ")


def _metric(value: Any) -> str:
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return "" if value is None else f" (searcher's metric {shown})"


def _places(containers: Any) -> str:
    if not isinstance(containers, Sequence) or not containers:
        return "an agent"
    places = []
    for one in containers:
        slots = len(one.get("slot_ids") or ())
        count = f" ({slots} slot{'' if slots == 1 else 's'})" if slots else ""
        places.append(f"{one.get('agent_id', '?')}{count}")
    more = f" and {len(places) - 8} more" if len(places) > 8 else ""
    return ", ".join(places[:8]) + more


def _container(event: Mapping[str, Any]) -> str:
    agent = f" on {event['agent_id']}" if event.get("agent_id") else ""
    failure = event.get("failure")
    match event.get("state"):
        case "PULLING":
            return f"pulls its image{agent}"
        case "STARTING":
            return f"starts its container{agent}"
        case "RUNNING":
            return f"is running{agent}"
        case _ if isinstance(failure, Mapping):
            words = _said(failure) or failure.get("message") or _words(failure)
            return f"had a container end{agent}: {words}"
        case _:
            return f"had a container exit{agent}"


def _outcome(event: Mapping[str, Any]) -> str:
    outcome = event.get("outcome")
    if isinstance(outcome, Mapping):
        message = "; ".join(filter(None, (_said(outcome), outcome.get("message"))))
        return f"{outcome.get('kind', 'ended')}{f', {message}' if message else ''}"
    return _words(event.get("exit_status") or "done")


def _said(ended: Mapping[str, Any]) -> str:
    """The sentence of the cause of a failure; empty where it has none."""
    cause = ended.get("cause")
    return sentence(msgspec.convert(cause, FailureCause)) if isinstance(cause, Mapping) else ""
