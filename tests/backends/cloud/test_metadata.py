"""What a master learns about its own machine from a cloud that stumbles."""

from __future__ import annotations

from tests.backends.cloud.http_servers import Quiet, serving

from determined_master.backends.cloud.metadata import TRIES, GcpMetadata


def asked(failures: int, status: int) -> tuple[str, int]:
    """What is found after so many failures, and how often the service was asked."""
    calls = []

    class Handler(Quiet):
        def do_GET(self) -> None:
            calls.append(self.path)
            self.reply(status if len(calls) <= failures else 200, b"det-master", "text/plain")

    with serving(Handler) as url:
        return GcpMetadata(url).find("instance/name"), len(calls)


def test_a_service_that_stumbles_is_asked_again() -> None:
    assert asked(failures=1, status=503) == ("det-master", 2)
    assert asked(failures=1, status=429) == ("det-master", 2)
    assert asked(failures=9, status=503) == ("", TRIES)


def test_a_missing_file_of_a_service_is_not_requested_again() -> None:
    assert asked(failures=9, status=404) == ("", 1)
