"""The service for CloudWatch as a process, against moto: journal, restarts, metrics."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import boto3
import pytest
from tests.agent.journal.conftest import Host
from tests.backends.cloud.ec2_server import ACCOUNT_VARIABLES, application
from tests.backends.cloud.http_servers import stopped_at_the_end
from tests.e2e.cluster_api import until
from tests.free_ports import free_port
from tests.metadata_service import metadata_service
from werkzeug.serving import make_server

from determined_agent.clock import now
from determined_agent.journal.batches import Entry
from determined_agent.journal.cloudwatch import NAMESPACE, CloudWatch
from determined_agent.journal.ending import Ending
from determined_agent.journal.load import Metric
from determined_agent.journal.target import CannotStart

pytestmark = pytest.mark.slow

REGION, GROUP = "us-west-2", "/determined/lab/journald"
TARGET = ("cloudwatch", "--group", GROUP, "--stream", "i-1", "--region", REGION)


class Cloud:
    """CloudWatch; `is_away` lets it answer every call with an error."""

    def __init__(self) -> None:
        self.url = ""
        self.is_away = False
        self.calls: list[str] = []
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """Made once: to make one takes longer than its call."""
        if service not in self._clients:
            made = boto3.client(service, region_name=REGION, endpoint_url=self.url)
            self._clients[service] = made
        return self._clients[service]

    def messages(self, stream: str, group: str = GROUP) -> list[str]:
        """The events of a stream, in their order."""
        logs = self.client("logs")
        with contextlib.suppress(logs.exceptions.ResourceNotFoundException):
            found = logs.get_log_events(
                logGroupName=group, logStreamName=stream, startFromHead=True
            )
            return [event["message"] for event in found["events"]]
        return []

    def front(self, environ: dict[str, Any], start: Any) -> Any:
        self.calls.append(environ.get("HTTP_X_AMZ_TARGET", ""))
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = BytesIO(body)
        if not self.is_away:
            return application()(environ, start)
        start("400 Bad Request", [("Content-Type", "application/x-amz-json-1.1")])
        return [b'{"__type": "AccessDeniedException", "message": "You may not."}']


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    made = Cloud()
    server = make_server("127.0.0.1", 0, made.front, threaded=True)
    server.daemon_threads = True  # type: ignore[attr-defined]
    with stopped_at_the_end(server):
        made.url = f"http://127.0.0.1:{server.server_port}"
        for name, value in {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL": made.url}.items():
            monkeypatch.setenv(name, value)
        logs = made.client("logs")
        for group in logs.describe_log_groups()["logGroups"]:
            logs.delete_log_group(logGroupName=group["logGroupName"])
        yield made


def test_the_journal_arrives_and_a_restart_neither_repeats_nor_loses_it(
    cloud: Cloud, host: Host
) -> None:
    host.write("one", "two")
    with host.service(*TARGET) as process:
        until(lambda: len(cloud.messages("i-1")) == 2, what="the first entries")
        host.write("three")
    assert process.returncode == 0
    # The last entry is sent at the end, if journalctl has already read it.
    host.write("four")
    with host.service(*TARGET):
        until(lambda: len(cloud.messages("i-1")) >= 4, what="the entries after the restart")
    assert cloud.messages("i-1") == [
        f"determined-agent: {word}" for word in ("one", "two", "three", "four")
    ]
    first, second = (host.root / "asked").read_text().splitlines()
    assert first.endswith("--boot")
    assert "--after-cursor=" in second


def test_without_options_a_machine_is_named_by_its_id_in_the_group_of_the_documents(
    cloud: Cloud, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    host.write("one")
    with metadata_service() as metadata:
        url = f"http://{metadata.address}"
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
        with host.service("cloudwatch"):
            until(
                lambda: cloud.messages("i-5", "/determined/determined/journald"),
                what="the entry",
            )


def test_a_machine_of_no_cloud_must_be_named(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", address)
    with host.service("cloudwatch") as process:
        assert process.wait(60) == 2
    assert "name its --stream and its --region" in host.log


def test_another_command_may_read_the_journal(cloud: Cloud, host: Host) -> None:
    """As in a container: the machine's own program."""
    host.write("one")
    with host.service("--journalctl", "env LANG=C.UTF-8 journalctl", *TARGET):
        until(lambda: cloud.messages("i-1") == ["determined-agent: one"], what="the entry")


def test_a_refused_batch_is_repeated_and_the_reason_is_logged_once(
    cloud: Cloud, host: Host
) -> None:
    cloud.is_away = True
    host.write("one")
    with host.service(*TARGET):
        until(lambda: cloud.calls.count("Logs_20140328.PutLogEvents") >= 2, what="a second try")
        cloud.is_away = False
        until(lambda: cloud.messages("i-1") == ["determined-agent: one"], what="the entry")
    log = host.log
    assert log.count("the journal is not sent, and is repeated:") == 1
    assert "You may not." in log


def test_a_service_ends_while_cloudwatch_is_away_and_sends_it_next_time(
    cloud: Cloud, host: Host
) -> None:
    cloud.is_away = True
    host.write("one")
    with host.service(*TARGET):
        until(lambda: "Logs_20140328.PutLogEvents" in cloud.calls, what="a try")
    cloud.is_away = False
    with host.service(*TARGET):
        until(lambda: cloud.messages("i-1") == ["determined-agent: one"], what="the entry")


def test_a_cursor_that_journalctl_refuses_is_forgotten(cloud: Cloud, host: Host) -> None:
    (host.root / "state").mkdir()
    cursor = host.root / "state" / "cursor"
    cursor.write_text("torn")
    host.write("one")
    with host.service(*TARGET) as process:
        assert process.wait(60) == 1
    assert not cursor.exists()
    assert "does not take the cursor 'torn'" in host.log
    with host.service(*TARGET):
        until(lambda: cloud.messages("i-1") == ["determined-agent: one"], what="the entry")


def test_metrics_have_the_machine_and_the_gpu(cloud: Cloud) -> None:
    made = CloudWatch(GROUP, "i-7", REGION, Ending())
    made.put([Metric("CPUUtilization", 12.5), Metric("GPUUtilization", 80.0, "1")])
    found = cloud.client("cloudwatch").list_metrics(Namespace=NAMESPACE)["Metrics"]
    assert {
        (one["MetricName"], *sorted((d["Name"], d["Value"]) for d in one["Dimensions"]))
        for one in found
    } >= {
        ("CPUUtilization", ("Machine", "i-7")),
        ("GPUUtilization", ("GPU", "1"), ("Machine", "i-7")),
    }


def test_metrics_that_are_refused_are_dropped(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.is_away = True
    CloudWatch(GROUP, "i-7", REGION, Ending()).put([Metric("CPUUtilization", 1.0)])
    assert "metrics are not sent" in caplog.text


def test_machines_share_a_stream(cloud: Cloud) -> None:
    at_us = int(now().timestamp() * 1_000_000)
    for name in ("a", "b"):
        made = CloudWatch(GROUP, "all", REGION, Ending())
        assert made.send([Entry("c", at_us, name)])
    assert sorted(cloud.messages("all")) == ["a", "b"]


def test_without_boto3_the_package_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(CannotStart, match=r"pip install 'determined-platform\[aws\]'"):
        CloudWatch(GROUP, "i-7", REGION, Ending())
