"""What a newcomer sees on a cluster: quiet logs, errors that name the mistake, questions."""

from __future__ import annotations

import http.cookiejar
import io
import os
import subprocess
import sys
import urllib.parse
import urllib.request

import pytest
from tests.e2e.cluster import PASSWORD
from tests.e2e.live.conftest import SINGLE, Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live
REPORTS = """
from determined import core

with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    context.train.report_validation_metrics(1, {"loss": 0.5})
"""
MISTAKES = """
from determined import core

with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    train = context.train
    for call in (
        lambda: train.report_training_metrics("one", {"loss": 1}),
        lambda: train.report_training_metrics(1.5, {"loss": 1}),
        lambda: train.report_training_metrics(1, [1]),
        lambda: train.report_metrics(3, 1, {"loss": 1}),
        lambda: train.report_progress(7),
        lambda: train.set_status(4),
    ):
        try:
            call()
        except (TypeError, ValueError) as error:
            print("named:", error, flush=True)
    train.report_validation_metrics(1, {"loss": 0.5})
"""
DETACHED = "from determined.experimental import core_v2\ncore_v2.init()\n"


class Terminal(io.StringIO):
    """A person types and reads."""

    def isatty(self) -> bool:
        return True


@live("experiment create")
def test_a_followed_trial_prints_no_noise_and_ends_with_its_state(person: Person) -> None:
    said = person.det("e", "create", "-f", person.file(SINGLE), person.model(REPORTS))
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[-1].endswith(" is COMPLETED")
    assert [line for line in lines if "searcher" in line or len(line) > 250] == []
    assert [line for line in lines if "WARNING" in line or "ERROR" in line] == []


def test_wrong_arguments_of_core_train_are_named(person: Person) -> None:
    said = person.det("e", "create", "-f", person.file(SINGLE), person.model(MISTAKES)).out
    named = [line.partition("named: ")[2] for line in said.splitlines() if "named: " in line]
    assert named == [
        "steps_completed must be a whole number, got 'one'",
        "steps_completed must be a whole number, got 1.5",
        "metrics must be a dict of values by name, such as {'loss': 0.5}, got list: [1]",
        "group must be text, got 3",
        "progress must be a number from 0 to 1, got 7",
        "status must be text, got 4",
    ]


def test_the_insides_of_the_master_are_shown_on_request_only(person: Person) -> None:
    number = person.create(SINGLE, REPORTS)
    person.det("e", "wait", number, "--polling-interval", 0.05)
    trial = person.trial(number)["id"]
    for words in (("e", "story", number), ("t", "story", trial)):
        assert "because of" not in person.det(*words).out
        assert "because of" in person.det(*words, "--verbose").out


def test_a_detached_script_without_rights_ends_in_one_line(person: Person) -> None:
    env = {**os.environ, "DET_USER_TOKEN": "revoked"}
    done = subprocess.run(
        [sys.executable, "-c", DETACHED],
        env=env,
        cwd=person.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("determined: ")


def test_a_person_signs_in_on_a_form_without_scripts(person: Person) -> None:
    address = person.cluster.address
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with browser.open(f"{address}/det/login?form=1", timeout=30) as page:
        text = page.read().decode()
    assert ("<form" in text, "<script" in text) == (True, False)
    fields = urllib.parse.urlencode({"username": "determined", "password": PASSWORD}).encode()
    with browser.open(f"{address}/det/login?form=1", fields, timeout=30) as page:
        assert "You are signed in as determined" in page.read().decode()
    with browser.open(f"{address}/api/v1/me", timeout=30) as me:
        assert '"username":"determined"' in me.read().decode()


def test_the_deletion_of_a_model_is_asked_about_at_a_terminal(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.det("m", "create", "asked")
    monkeypatch.setattr(io, "StringIO", Terminal)
    said = person.det("m", "delete", "asked", typed="n\n", code=1)
    assert "nothing was changed" in said.err
    assert "asked" in person.det("m", "list").out
    person.det("m", "delete", "asked", typed="y\n")
    assert "asked" not in person.det("m", "list").out
