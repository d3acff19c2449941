"""Requests to Google's REST APIs."""

from __future__ import annotations

import pytest
from tests.backends.cloud.http_servers import Quiet, serving

from determined_wire.google_rest import NoAnswer, problem_of, send, unreachable


class Breaking(Quiet):
    """Ends the connection in the middle of an answer."""

    def do_GET(self) -> None:
        self.send_response(int(self.path[1:]))
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"half")


@pytest.mark.parametrize("status", [200, 503])
def test_an_answer_that_breaks_off_is_no_answer(status: int) -> None:
    with serving(Breaking) as url, pytest.raises(NoAnswer, match="IncompleteRead"):
        send(f"{url}/{status}", "GET", None, {}, 60.0)


def test_an_address_that_cannot_be_reached_is_no_answer() -> None:
    for url in ("no address", "http://127.0.0.1:1/"):
        with pytest.raises(NoAnswer):
            send(url, "GET", None, {}, 60.0)


def test_zones_that_are_not_listed_are_named_in_either_form_of_google() -> None:
    scopes = {
        "zones/a": {"warning": {"code": "NO_RESULTS_ON_PAGE"}},
        "zones/b": {"warning": {"code": "UNREACHABLE"}},
        "zones/c": {"instances": []},
    }
    assert unreachable({"items": scopes, "unreachables": ["zones/d"]}) == ["zones/d", "zones/b"]


def test_codes_of_errors_and_of_details_are_apart() -> None:
    content = (
        b'{"error": {"message": "No\\n room", "errors": [{"reason": "quotaExceeded"}],'
        b' "details": [{"reason": "SERVICE_DISABLED"}]}}'
    )
    assert problem_of(content, 400) == ("No room", ["quotaExceeded"], ["SERVICE_DISABLED"])
    assert problem_of(b"<h1>Bad\n gateway</h1>", 7) == ("<h1>Bad", (), ())
