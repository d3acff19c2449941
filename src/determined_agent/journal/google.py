"""Sends batches and metrics to Google's Cloud Logging and Cloud Monitoring, by their REST APIs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from determined_agent import clock
from determined_agent.journal.batches import GOOGLE, Entry
from determined_agent.journal.ending import Ending
from determined_agent.journal.google_machine import GoogleMachine, Tokens
from determined_agent.journal.load import Metric
from determined_agent.journal.target import NotSent, NotTaken, Target
from determined_wire import google_rest

LOG = "determined"
METRICS = "custom.googleapis.com/determined"
TIMEOUT_S = 30.0
SEVERITIES = ("EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG")
"""By the priority of an entry."""
_MAX_TEXT = 400


class CloudLogging(Target):
    """The log `determined` of a project, and the metrics of one machine."""

    name = "Cloud Logging"
    limits = GOOGLE

    def __init__(self, machine: GoogleMachine, tokens: Tokens, ending: Ending) -> None:
        """
        Args:
            machine: this one.
            tokens: of its service account.
            ending: set once the service ends.
        """
        super().__init__(ending)
        self._machine = machine
        self._tokens = tokens

    def _send_once(self, batch: Sequence[Entry]) -> None:
        self._call("logging", "entries:write", entries_of(batch, self._machine))

    def _put_once(self, metrics: Sequence[Metric]) -> None:
        body = {"timeSeries": series_of(metrics, self._machine, clock.now())}
        self._call("monitoring", f"projects/{self._machine.project}/timeSeries", body)

    def _call(self, service: str, path: str, body: Mapping[str, Any]) -> None:
        url = google_rest.url_of(service, path)
        headers = {"Authorization": f"Bearer {self._tokens.get()}"}
        try:
            answer = google_rest.send(url, "POST", body, headers, TIMEOUT_S)
        except google_rest.NoAnswer as error:
            raise NotSent(f"{service} does not answer: {error}") from None
        if answer.is_success:
            return
        if answer.status == 401:
            self._tokens.forget()
        message = google_rest.problem_of(answer.data, _MAX_TEXT).message
        # Entries that are valid were written: see `partialSuccess`.
        refusal = NotTaken if answer.status in (400, 413) else NotSent
        raise refusal(f"{service} answers {answer.status}: {message}")


def entries_of(batch: Sequence[Entry], machine: GoogleMachine) -> dict[str, Any]:
    """The body of `entries.write`. Google drops an entry that it has, by its `insertId`."""
    entries = [
        {
            "timestamp": _instant(entry.at_us),
            "insertId": hashlib.sha256(entry.cursor.encode()).hexdigest()[:32],
            "severity": SEVERITIES[entry.priority],
            "textPayload": entry.text,
        }
        for entry in batch
    ]
    return {
        "logName": f"projects/{machine.project}/logs/{LOG}",
        "resource": _resource(machine),
        "labels": {"machine": machine.name},
        "partialSuccess": True,
        "entries": entries,
    }


def series_of(
    metrics: Sequence[Metric], machine: GoogleMachine, now: datetime
) -> list[dict[str, Any]]:
    """The metrics at this instant, such as `custom.googleapis.com/determined/CPUUtilization`."""
    at = _instant(int(now.timestamp() * 1_000_000))
    return [
        {
            "metric": {
                "type": f"{METRICS}/{metric.name}",
                "labels": {"machine": machine.name, **({"gpu": metric.gpu} if metric.gpu else {})},
            },
            "resource": _resource(machine),
            "metricKind": "GAUGE",
            "valueType": "DOUBLE",
            "unit": "%",
            "points": [{"interval": {"endTime": at}, "value": {"doubleValue": metric.value}}],
        }
        for metric in metrics
    ]


def _resource(machine: GoogleMachine) -> dict[str, Any]:
    labels = {
        "project_id": machine.project,
        "zone": machine.zone,
        "instance_id": machine.instance_id,
    }
    return {"type": "gce_instance", "labels": labels}


def _instant(at_us: int) -> str:
    at = datetime.fromtimestamp(at_us // 1_000_000, UTC).replace(microsecond=at_us % 1_000_000)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
