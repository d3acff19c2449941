"""Sends batches and metrics to CloudWatch."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from typing import Any

from determined_agent.journal.batches import CLOUDWATCH, Entry
from determined_agent.journal.ending import Ending
from determined_agent.journal.load import Metric
from determined_agent.journal.target import CannotStart, NotSent, NotTaken, Target

log = logging.getLogger(__name__)

NAMESPACE = "Determined"


class CloudWatch(Target):
    """One stream of log events, and the metrics of one machine."""

    name = "CloudWatch"
    limits = CLOUDWATCH

    def __init__(self, group: str, stream: str, region: str, ending: Ending) -> None:
        """
        Args:
            group: of CloudWatch Logs; it is made if it is not there and that is allowed.
            stream: in it, made in the same way; its name is also the machine's in metrics.
            region: of AWS; empty for boto3's own choice.
            ending: set once the service ends.

        Raises:
            CannotStart: boto3 is not installed.
        """
        super().__init__(ending)
        try:
            import boto3
            from botocore.config import Config
        except ImportError:
            raise CannotStart(
                "boto3 is not installed: pip install 'determined-platform[aws]'"
            ) from None
        config = Config(retries={"mode": "standard", "max_attempts": 3}, read_timeout=20)
        session = boto3.Session(region_name=region or None)
        self._logs = session.client("logs", config=config)
        self._metrics = session.client("cloudwatch", config=config)
        self._place = {"logGroupName": group, "logStreamName": stream}

    def _put_once(self, metrics: Sequence[Metric]) -> None:
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
            raise NotSent(str(error)) from None

    def _send_once(self, batch: Sequence[Entry]) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        events = [{"timestamp": entry.at_ms, "message": entry.text} for entry in batch]
        try:
            try:
                answer = self._logs.put_log_events(**self._place, logEvents=events)
            except self._logs.exceptions.ResourceNotFoundException:
                self._make()
                answer = self._logs.put_log_events(**self._place, logEvents=events)
        except self._logs.exceptions.InvalidParameterException as error:
            raise NotTaken(f"{len(events)} entries: {error}") from None
        except (BotoCoreError, ClientError) as error:
            raise NotSent(str(error)) from None
        if refused := answer.get("rejectedLogEventsInfo"):
            log.warning("CloudWatch refused events that are too old or too new: %s", refused)

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
