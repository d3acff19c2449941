"""Sends batches and metrics to CloudWatch. A batch is repeated until CloudWatch takes it."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Sequence
from typing import Any

from determined_agent.cloudwatch.batches import Entry
from determined_agent.cloudwatch.load import Metric

log = logging.getLogger(__name__)

NAMESPACE = "Determined"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0


class MissingPackage(Exception):
    """boto3 is not installed; the text names the remedy."""


class CloudWatch:
    """One stream of log events, and the metrics of one machine."""

    def __init__(self, group: str, stream: str, region: str, ending: threading.Event) -> None:
        """
        Args:
            group: of CloudWatch Logs; it is made if it is not there and that is allowed.
            stream: in it, made in the same way; its name is also the machine's in metrics.
            region: of AWS; empty for boto3's own choice.
            ending: set once the service ends: nothing is repeated after that.

        Raises:
            MissingPackage: boto3 is not installed.
        """
        try:
            import boto3
            from botocore.config import Config
        except ImportError:
            raise MissingPackage("boto3 is not installed: pip install 'determined[aws]'") from None
        config = Config(retries={"mode": "standard", "max_attempts": 3}, read_timeout=20)
        session = boto3.Session(region_name=region or None)
        self._logs = session.client("logs", config=config)
        self._metrics = session.client("cloudwatch", config=config)
        self._place = {"logGroupName": group, "logStreamName": stream}
        self._ending = ending
        self._failure = ""

    def send(self, batch: Sequence[Entry]) -> bool:
        """Send a batch, in the order of time; whether it was taken before the service ended."""
        events = [{"timestamp": entry.at_ms, "message": entry.text} for entry in batch]
        pause_s = FIRST_PAUSE_S
        while not self._try(events):
            if self._ending.wait(pause_s):
                return False
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return True

    def put(self, metrics: Sequence[Metric]) -> None:
        """Send metrics; those that cannot be sent are dropped, since newer ones follow."""
        from botocore.exceptions import BotoCoreError, ClientError

        machine = {"Name": "Machine", "Value": self._place["logStreamName"]}
        data: list[dict[str, Any]] = [
            {
                "MetricName": metric.name,
                "Dimensions": [
                    machine,
                    *([{"Name": "GPU", "Value": metric.gpu}] if metric.gpu else ()),
                ],
                "Unit": "Percent",
                "Value": metric.value,
            }
            for metric in metrics
        ]
        try:
            self._metrics.put_metric_data(Namespace=NAMESPACE, MetricData=data)
        except (BotoCoreError, ClientError) as error:
            log.warning("metrics are not sent: %s", error)

    def _try(self, events: list[dict[str, Any]]) -> bool:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            try:
                answer = self._logs.put_log_events(**self._place, logEvents=events)
            except self._logs.exceptions.ResourceNotFoundException:
                self._make()
                answer = self._logs.put_log_events(**self._place, logEvents=events)
        except self._logs.exceptions.InvalidParameterException as error:
            log.error(
                "CloudWatch does not take %d entries, which are lost: %s", len(events), error
            )
            return True
        except (BotoCoreError, ClientError) as error:
            if str(error) != self._failure:  # once for each reason
                log.warning("the journal is not sent, and is repeated: %s", error)
            self._failure = str(error)
            return False
        self._failure = ""
        if refused := answer.get("rejectedLogEventsInfo"):
            log.warning("CloudWatch refused events that are too old or too new: %s", refused)
        return True

    def _make(self) -> None:
        """Make the group and the stream. Another machine may do the same at this moment."""
        exists = self._logs.exceptions.ResourceAlreadyExistsException
        missing = self._logs.exceptions.ResourceNotFoundException
        try:
            self._logs.create_log_stream(**self._place)
        except exists:
            return
        except missing:
            with contextlib.suppress(exists):
                self._logs.create_log_group(logGroupName=self._place["logGroupName"])
            self._logs.create_log_stream(**self._place)
