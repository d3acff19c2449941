"""Sends batches and metrics to Google's Cloud Logging and Cloud Monitoring, by their REST APIs."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from determined_agent import clock
from determined_agent.journal.batches import GOOGLE, Entry
from determined_agent.journal.ending import Ending
from determined_agent.journal.google_machine import GoogleMachine, Tokens
from determined_agent.journal.load import Metric
from determined_agent.journal.target import NotSent, NotTaken, Target

APIS: Mapping[str, str] = {
    "logging": "https://logging.googleapis.com/v2",
    "monitoring": "https://monitoring.googleapis.com/v3",
}
"""CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICE names another server."""
LOG = "determined"
METRICS = "custom.googleapis.com/determined"
TIMEOUT_S = 30.0
SEVERITIES = ("EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG")
"""By the priority of an entry."""
_MAX_BYTES = 65_536
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
        override = os.environ.get(f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{service.upper()}", "")
        url = f"{(override or APIS[service]).rstrip('/')}/{path}"
        headers = {"Authorization": f"Bearer {self._tokens.get()}"}
        headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, msgspec.json.encode(body), headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                answer.read(_MAX_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                text = f"{service} answers {error.code}: {_reason(error)}"
            if error.code == 401:
                self._tokens.forget()
            # Entries that are valid were written: see `partialSuccess`.
            raise (NotTaken if error.code in (400, 413) else NotSent)(text) from None
        except (OSError, http.client.HTTPException) as error:
            raise NotSent(f"{service} does not answer: {error}") from None


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


def _reason(error: urllib.error.HTTPError) -> str:
    """The message of an answer of Google."""
    content = error.read(_MAX_BYTES)
    try:
        return str(msgspec.json.decode(content)["error"]["message"])[:_MAX_TEXT]
    except (msgspec.DecodeError, KeyError, TypeError):
        return content.decode(errors="replace")[:_MAX_TEXT]
