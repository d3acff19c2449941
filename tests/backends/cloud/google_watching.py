"""Emulators of Cloud Logging and Cloud Monitoring, in memory, with the limits of both."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from tests.backends.cloud.gcp_server import Fault

MAX_REQUEST_BYTES, MAX_ENTRY_BYTES = 10_000_000, 262_144
Query = dict[str, str]


class Watching:
    """What both have: calls that are refused, for all methods."""

    def __init__(self) -> None:
        self.refusal: Fault | None = None
        """The status of every answer."""
        self.tries = 0

    def answer(self, method: str, path: str, query: Query, body: Any) -> Any:
        self.tries += 1
        if self.refusal is not None:
            raise self.refusal
        return self.take(body) if method == "POST" else {}

    def take(self, body: Any) -> Any:
        raise NotImplementedError


class Logging(Watching):
    """Entries of all logs."""

    document: ClassVar[str] = "logging_v2"

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[dict[str, Any]] = []
        """In their order; one that came twice is there once."""
        self.spoiled: set[str] = set()
        """Texts that are not taken."""

    def take(self, body: Any) -> Any:
        if len(json.dumps(body)) > MAX_REQUEST_BYTES:
            raise Fault(413, "Request payload size exceeds the limit")
        shared = {key: value for key, value in body.items() if key not in ("entries",)}
        bad = 0
        for one in body["entries"]:
            text = one["textPayload"]
            if text in self.spoiled or len(text.encode()) > MAX_ENTRY_BYTES:
                bad += 1
            elif one["insertId"] not in {known["insertId"] for known in self.entries}:
                self.entries.append({**shared, **one})
        if bad and not body.get("partialSuccess"):
            self.entries = self.entries[: -len(body["entries"])]
        if bad:
            raise Fault(400, f"{bad} log entries are invalid")
        return {}

    def texts(self) -> list[str]:
        """The texts of all entries."""
        return [one["textPayload"] for one in self.entries]


class Monitoring(Watching):
    """Points of time series."""

    document: ClassVar[str] = "monitoring_v3"

    def __init__(self) -> None:
        super().__init__()
        self.series: list[dict[str, Any]] = []

    def take(self, body: Any) -> Any:
        if len(body["timeSeries"]) > 200:
            raise Fault(400, "at most 200 time series of one call")
        for one in body["timeSeries"]:
            if len(one["points"]) != 1:
                raise Fault(400, "a time series has one point of a call")
        self.series += body["timeSeries"]
        return {}
