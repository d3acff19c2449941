"""The service for Cloud Logging as a process, against the emulator: journal, faults, metrics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from tests.agent.journal.conftest import Host
from tests.backends.cloud.gcp_server import Fault
from tests.backends.cloud.google_project import GoogleProject
from tests.backends.cloud.metadata_server import ON_GCP, gcp_metadata
from tests.e2e.cluster_api import until

from determined_agent.journal.batches import GOOGLE, Entry, batches
from determined_agent.journal.ending import Ending
from determined_agent.journal.google import CloudLogging, entries_of, series_of
from determined_agent.journal.google_machine import GoogleMachine, Tokens, this_machine
from determined_agent.journal.load import Metric
from determined_agent.journal.target import CannotStart, NotSent

pytestmark = pytest.mark.slow

TOKEN = "instance/service-accounts/default/token"
MACHINE = GoogleMachine("lab", "us-west1-b", "8675309", "det-agent-1")
AT_US = 1_700_000_000_123_456


@pytest.fixture
def items() -> dict[str, str]:
    """The answers of the metadata service; a test may change them."""
    return {**ON_GCP, "instance/name": "det-agent-1", "instance/id": "8675309"}


@pytest.fixture
def google(items: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleProject]:
    """Google's APIs, and the metadata service of this machine."""
    project = GoogleProject()
    project.start()
    try:
        with gcp_metadata(items) as url:
            monkeypatch.setenv("GCE_METADATA_HOST", urlsplit(url).netloc)
            for name, value in project.variables().items():
                monkeypatch.setenv(name, value)
            yield project
    finally:
        project.stop()
    assert project.differences == []


def target() -> CloudLogging:
    return CloudLogging(this_machine(), Tokens(), Ending())


def test_the_journal_arrives_and_a_restart_neither_repeats_nor_loses_it(
    google: GoogleProject, host: Host
) -> None:
    host.write("one")
    host.write("two", priority=3)
    with host.service("google") as process:
        until(lambda: len(google.logging.entries) == 2, what="the first entries")
    assert process.returncode == 0
    host.write("three")
    with host.service("google"):
        until(lambda: len(google.logging.entries) >= 3, what="the entry after the restart")
    words = ("one", "two", "three")
    assert google.logging.texts() == [f"determined-agent: {word}" for word in words]
    first, second, _ = google.logging.entries
    assert (first["severity"], second["severity"]) == ("INFO", "ERROR")
    assert first["logName"] == "projects/lab/logs/determined"
    labels = {"project_id": "lab", "zone": "us-west1-b", "instance_id": "8675309"}
    assert first["resource"] == {"type": "gce_instance", "labels": labels}
    assert first["labels"] == {"machine": "det-agent-1"}
    assert "gcp-t0ken" not in host.log


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault(403, "Permission 'logging.logEntries.create' denied"), "answers 403: Permission"),
        (Fault(429, "Quota exceeded"), "answers 429: Quota exceeded"),
        (Fault(503, "The service is unavailable"), "answers 503: The service is"),
        (Fault(307, "Sign in to the network"), "answers 307: Sign in"),
    ],
)
def test_a_refused_batch_is_repeated_and_the_reason_is_logged_once(
    google: GoogleProject, host: Host, fault: Fault, text: str
) -> None:
    google.logging.refusal = fault
    host.write("one")
    with host.service("google"):
        until(lambda: google.logging.tries >= 2, what="a second try")
        google.logging.refusal = None
        until(lambda: google.logging.texts() == ["determined-agent: one"], what="the entry")
    assert host.log.count("the journal is not sent, and is repeated:") == 1
    assert text in host.log


def test_a_batch_whose_answer_was_lost_is_there_once(google: GoogleProject) -> None:
    batch = [Entry("s=1;i=2", AT_US, "x: one")]
    assert target().send(batch)
    assert target().send(batch)
    assert google.logging.texts() == ["x: one"]


def test_an_entry_that_is_never_taken_does_not_stop_the_others(
    google: GoogleProject, caplog: pytest.LogCaptureFixture
) -> None:
    google.logging.spoiled = {"x: bad"}
    entries = [Entry(str(n), AT_US + n, f"x: {word}") for n, word in enumerate(("a", "bad", "b"))]
    assert target().send(entries)
    assert google.logging.texts() == ["x: a", "x: b"]
    assert "does not take entries, which are lost" in caplog.text
    assert "1 log entries are invalid" in caplog.text


def test_a_token_is_used_until_it_expires_or_is_refused(
    google: GoogleProject, items: dict[str, str]
) -> None:
    made = target()
    assert made.send([Entry("1", AT_US, "x: one")])
    items[TOKEN] = json.dumps({"access_token": "second", "expires_in": 3599})
    google.token = "second"
    # The first try has the old token; 401 makes the second fetch another.
    assert made.send([Entry("2", AT_US, "x: two")])
    assert google.logging.texts() == ["x: one", "x: two"]
    short = Tokens()
    items[TOKEN] = json.dumps({"access_token": "third", "expires_in": 30})
    assert short.get() == "third"
    items[TOKEN] = json.dumps({"access_token": "fourth", "expires_in": 3599})
    assert short.get() == "fourth"


@pytest.mark.parametrize("answer", ["", "{}", '{"access_token": 7, "secret": "s3cret"}'])
def test_an_answer_without_a_token_is_repeated_and_not_shown(
    google: GoogleProject, items: dict[str, str], answer: str
) -> None:
    items[TOKEN] = answer
    with pytest.raises(NotSent, match=r"the metadata service's answer has no token$"):
        Tokens().get()


def test_the_largest_batch_is_within_googles_limits(google: GoogleProject) -> None:
    long = "\u0007" * 255_000  # JSON writes six characters for each
    entries = [Entry(str(number), AT_US + number, long) for number in range(8)]
    found = list(batches(entries, GOOGLE))
    assert all(target().send(batch) for batch in found)
    assert len(google.logging.entries) == 8


def test_metrics_have_the_machine_and_the_gpu(google: GoogleProject) -> None:
    target().put([Metric("CPUUtilization", 12.5), Metric("GPUUtilization", 80.0, "1")])
    cpu, gpu = google.monitoring.series
    assert cpu["metric"] == {
        "type": "custom.googleapis.com/determined/CPUUtilization",
        "labels": {"machine": "det-agent-1"},
    }
    assert gpu["metric"]["labels"] == {"machine": "det-agent-1", "gpu": "1"}
    assert gpu["points"][0]["value"] == {"doubleValue": 80.0}


def test_metrics_that_are_refused_are_dropped(
    google: GoogleProject, caplog: pytest.LogCaptureFixture
) -> None:
    google.monitoring.refusal = Fault(403, "Permission monitoring.timeSeries.create denied")
    target().put([Metric("CPUUtilization", 1.0)])
    assert "metrics are not sent: monitoring answers 403: Permission" in caplog.text
    assert google.monitoring.tries == 1


def test_a_machine_elsewhere_is_named(monkeypatch: pytest.MonkeyPatch, host: Host) -> None:
    with gcp_metadata({}) as url:
        monkeypatch.setenv("GCE_METADATA_HOST", urlsplit(url).netloc)
        with pytest.raises(CannotStart, match="answers 404 for project/project-id"):
            this_machine()
        with host.service("google") as process:
            assert process.wait(60) == 2
    assert "Cloud Logging needs a machine of Compute Engine" in host.log


def test_instants_have_microseconds() -> None:
    [entry] = entries_of([Entry("1", AT_US, "x")], MACHINE)["entries"]
    assert entry["timestamp"] == "2023-11-14T22:13:20.123456Z"
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    [series] = series_of([Metric("CPUUtilization", 1.0)], MACHINE, at)
    assert series["points"][0]["interval"] == {"endTime": "2026-01-02T03:04:05.000000Z"}
