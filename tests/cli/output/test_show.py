"""The output of commands, for people and for scripts."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli import canned
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

from determined.cli.experiment import tables
from determined.cli.output import plain_table, plain_yaml, show


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_list_prints_one_row_per_experiment(det: Det, master: FakeMaster) -> None:
    assert det("e", "list", "--csv").out == (
        "ID,Owner,Name,Parent ID,State,Progress,Started,Ended,Resource Pool\r\n"
        "7,determined,wirex,,COMPLETED,100.0%,"
        "2026-11-21 05:00:00+0000,2026-11-21 05:10:00+0000,default\r\n"
    )
    (call,) = master.made("GET", "/api/v1/experiments")
    assert call.query == {"archived": ["false"], "users": ["determined"], "limit": ["200"]} | {
        "offset": ["0"]
    }


def test_a_noun_without_a_command_lists(det: Det, master: FakeMaster) -> None:
    assert det("e").out == det("experiment", "ls").out


def test_a_plain_table_separates_its_columns_by_bars(det: Det, master: FakeMaster) -> None:
    header, rule, row = det("agent", "list").out.splitlines()
    assert [cell.strip() for cell in header.split("|")][:4] == [
        "Agent ID",
        "Version",
        "Registered Time",
        "Slots",
    ]
    assert set(rule) == {"-", "+"}
    assert [cell.strip() for cell in row.split("|")][:4] == [
        "a1",
        "0.38.1",
        "2026-11-21 05:00:00+0000",
        "1",
    ]


def test_numbers_are_right_aligned_and_no_line_ends_in_blanks() -> None:
    text = plain_table.draw(["ID", "Name"], [[7, "ab"], [11, None]])
    assert text.splitlines() == ["   ID | Name", "------+--------", "    7 | ab", "   11 |"]


def test_a_cell_of_several_lines_makes_a_taller_row() -> None:
    text = plain_table.draw(["A", "B"], [["x\ny", "1"]])
    assert [line.strip() for line in text.splitlines()[2:]] == ["x   |   1", "y   |"]


def test_all_pages_are_fetched(det: Det, master: FakeMaster) -> None:
    def answer(call: object) -> tuple[int, object]:
        offset = int(call.query["offset"][0])  # type: ignore[attr-defined]
        item = {**canned.EXPERIMENT, "id": 100 + offset}
        bounds = {"offset": offset, "limit": 1, "startIndex": offset, "endIndex": offset + 1}
        return 200, {"experiments": [item], "pagination": {**bounds, "total": 3}}

    master.routes[("GET", "/api/v1/experiments")] = answer
    rows = rows_of(det("e", "list", "--limit", "1", "--csv").out)
    assert [row[0] for row in rows[1:]] == ["100", "101", "102"]
    rows = rows_of(det("e", "list", "--limit", "1", "--pages", "1", "--csv").out)
    assert [row[0] for row in rows[1:]] == ["100"]


def test_describe_shows_experiment_trials_and_workloads(det: Det, master: FakeMaster) -> None:
    parts = det("e", "describe", "7", "--csv", "--metrics").out.split("\n\n")
    titles = [part.split("\n", 1)[0] for part in parts]
    assert titles == ["Experiment:", "Trials:", "Workloads:"]
    header, row = rows_of(parts[2].split("\n", 1)[1])
    found = dict(zip(header, row, strict=True))
    assert found["Training Metric: loss"] == "0.2"
    assert found["Validation Metric: loss"] == "0.1"
    assert found["Checkpoint State"] == "COMPLETED"


def test_describe_writes_one_file_per_table(det: Det, master: FakeMaster, tmp_path: Path) -> None:
    assert det("e", "describe", "7", "--outdir", str(tmp_path / "out")).status == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["experiments.csv", "trials.csv", "workloads.csv"]
    assert rows_of((tmp_path / "out" / "trials.csv").read_text())[1][0] == "11"


def test_describe_as_json_is_the_masters_answer_with_null_for_unset_fields(
    det: Det, master: FakeMaster
) -> None:
    (found,) = json.loads(det("e", "describe", "7", "--json").out)
    assert canned.EXPERIMENT.items() <= found["experiment"].items()
    assert (found["jobSummary"], found["config"]) == (None, canned.CONFIG)
    added = found["experiment"].keys() - canned.EXPERIMENT.keys()
    assert "externalExperimentId" in added
    assert {found["experiment"][name] for name in added} == {None}
    shown = json.loads(det("trial", "describe", "11", "--json").out)
    assert shown["trial"]["hparams"] == canned.TRIAL["hparams"]
    assert shown["trial"]["metadata"] is None
    assert [w.keys() for w in shown["workloads"]] == [{"training", "validation", "checkpoint"}] * 3


def test_a_row_of_workloads_has_the_time_of_its_last_report(det: Det, master: FakeMaster) -> None:
    training, validation = ({"totalBatches": 4, "metrics": {"avgMetrics": {}}} for _ in range(2))
    training["endTime"] = "2026-01-01T00:00:01Z"
    validation["endTime"] = "2026-01-01T00:00:07Z"
    found = canned.page("workloads", {"training": training}, {"validation": validation})
    master.routes[("GET", "/api/v1/trials/11/workloads")] = (200, found)
    out = det("e", "describe", "7", "--csv").out
    assert rows_of(out.split("Workloads:\n")[1])[1][3] == "2026-01-01 00:00:07+0000"


def test_csv_rows_have_as_many_columns_as_the_header(det: Det, master: FakeMaster) -> None:
    for words in (["trial", "describe", "11", "--metrics"], ["e", "lc", "7"], ["e", "lt", "7"]):
        for table in det(*words, "--csv").out.split("\n\nWorkloads:\n"):
            assert len({len(row) for row in rows_of(table) if row != ["Workloads:"] and row}) == 1


def test_the_best_checkpoints_are_those_with_the_best_metric(det: Det, master: FakeMaster) -> None:
    def checkpoint(uuid: str, metric: float | None) -> dict[str, object]:
        training = {**canned.CHECKPOINT["training"], "searcherMetric": metric}
        return {**canned.CHECKPOINT, "uuid": uuid, "training": training}

    found = [checkpoint("a", 0.3), checkpoint("b", None), checkpoint("c", 0.1), checkpoint("d", 2)]
    route = ("GET", "/api/v1/experiments/7/checkpoints")
    master.routes[route] = (200, canned.page("checkpoints", *found))
    rows = rows_of(det("e", "lc", "7", "--best", "2", "--csv").out)
    assert [row[4] for row in rows[1:]] == ["c", "a"]


def test_slots_are_listed_with_their_tasks(det: Det, master: FakeMaster) -> None:
    slot = {**canned.AGENT["slots"]["/agents/a1/slots/0"], "container": {"id": "c-1"}}
    agent = {**canned.AGENT, "slots": {"/agents/a1/slots/0": slot}}
    task = {"allocationId": "t.1", "name": "Trial 11", "resources": [{"containerId": "c-1"}]}
    master.routes[("GET", "/api/v1/agents")] = (200, canned.page("agents", agent))
    master.routes[("GET", "/api/v1/tasks")] = (200, {"allocationIdToSummary": {"t.1": task}})
    (found,) = json.loads(det("slot", "list", "--json").out)
    assert (found["allocation_id"], found["task_name"]) == ("t.1", "Trial 11")


def test_a_log_is_printed_as_its_messages(det: Det, master: FakeMaster) -> None:
    stamp = "[2026-11-21T05:59:59.123456Z] ffaf3b08 [rank=0] || INFO:"
    assert det("trial", "logs", "11").out == (
        f"{stamp} first\n{stamp} second\n"
        "Trial log stream ended. To reopen log stream, run: det trial logs -f 11\n"
    )
    assert det("e", "logs", "7").out == det("t", "logs", "11").out


def test_log_filters_reach_the_master(det: Det, master: FakeMaster) -> None:
    words = ["--level", "ERROR", "--rank-id", "0", "--rank-id", "2", "--head", "5"]
    det("trial", "logs", "11", *words)
    query = master.made("GET", "/api/v1/trials/11/logs")[-1].query
    assert query["levels"] == ["LOG_LEVEL_ERROR", "LOG_LEVEL_CRITICAL"]
    assert query["rankIds"] == ["0", "2"]
    assert query["limit"] == ["5"]


def test_the_tail_of_a_log_is_in_log_order(det: Det, master: FakeMaster) -> None:
    newest_first = canned.Stream([canned.log_line(9, "nine"), canned.log_line(8, "eight")])
    master.routes[("GET", "/api/v1/trials/11/logs")] = (200, newest_first)
    out = det("trial", "logs", "11", "--tail", "2").out
    assert out.index("eight") < out.index("nine")
    assert master.calls[-1].query["orderBy"] == ["ORDER_BY_DESC"]


def test_a_followed_log_resumes_after_a_lost_connection(det: Det, master: FakeMaster) -> None:
    answers = [
        (200, canned.Stream([canned.log_line(1, "one")], breaks_off=True)),
        (200, canned.Stream([canned.log_line(1, "one"), canned.log_line(2, "two")])),
    ]
    master.routes[("GET", "/api/v1/trials/11/logs")] = lambda call: answers.pop(0)
    lines = det("trial", "logs", "11", "-f").out.splitlines()
    assert [line.split()[-1] for line in lines[:-1]] == ["one", "two"]


def test_a_story_is_printed_with_the_words_of_the_master(det: Det, master: FakeMaster) -> None:
    line = {
        "at": canned.T0,
        "aggregate": "trial 11",
        "event": "paused",
        "text": "trial 11  paused",
    }
    body = {"lines": [line], "reason": "its user paused it"}
    master.routes[("GET", "/api/v1/trials/11/story")] = (200, body)
    out = det("trial", "story", "11").out
    assert out == f"{canned.T0[:23]}Z  trial 11  paused\nReason: its user paused it\n"
    assert json.loads(det("trial", "story", "11", "--json").out) == line


def test_a_master_that_words_no_lines_has_its_events_shown(det: Det, master: FakeMaster) -> None:
    line = {"at": canned.T0, "aggregate": "trial 11", "cause": "created", "event": "paused"}
    master.routes[("GET", "/api/v1/trials/11/story")] = (200, {"lines": [line]})
    assert det("trial", "story", "11").out.endswith("  trial 11  paused\n")


@pytest.mark.slow
def test_following_a_story_ends_when_the_reader_is_gone(master: FakeMaster) -> None:
    line = {"at": "2026-01-01T00:00:00Z", "aggregate": "trial 11", "event": "x", "cause": "y"}
    running = {"trial": {"id": 11, "state": "STATE_RUNNING"}}
    master.routes[("GET", "/api/v1/trials/11")] = (200, running)
    path = ("GET", "/api/v1/trials/11/story")
    master.routes[path] = lambda call: (
        200,
        {"lines": [line] if call.query["offset"] == ["0"] else []},
    )
    following = subprocess.Popen(
        [sys.executable, "-m", "determined.cli", "trial", "story", "-f", "11"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    assert "trial 11" in following.stdout.readline()
    following.stdout.close()
    _, err = following.communicate(timeout=60)
    assert (following.returncode, err) == (1, "")


def test_the_model_definition_is_written_unchanged(
    det: Det, master: FakeMaster, tmp_path: Path
) -> None:
    det("e", "download-model-def", "7", "--output-dir", str(tmp_path / "x"))
    packed = tmp_path / "x" / "experiment_7_model_def.tgz"
    listed = subprocess.run(["tar", "tzf", packed], capture_output=True, text=True, check=True)
    assert listed.stdout == "train.py\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1, {"x": None}]}, "a:\n- 1\n- x: null\nb: 1"),
        ("yes", "'yes'"),
        ("0.38.1", "0.38.1"),
        ("1e-4", "'1e-4'"),
        ("it's", "'it''s'"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("a: b", "'a: b'"),
        ("two\nlines", '"two\\nlines"'),
        ({}, "{}"),
        ([[1, 2], []], "- - 1\n  - 2\n- []"),
        (float("nan"), ".nan"),
    ],
)
def test_plain_yaml_round_trips(value: object, text: str) -> None:
    assert plain_yaml.dump(value) == text
    from ruamel.yaml import YAML

    read = YAML(typ="safe", pure=True).load(plain_yaml.dump(value))
    assert read == value or value != value


def test_single_values_have_the_format_of_0_38_1() -> None:
    assert show.instant("2026-11-21T05:00:00.123456Z") == "2026-11-21 05:00:00+0000"
    assert show.instant(None) == ""
    assert show.state("STATE_STOPPING_KILLED") == "STOPPING_KILLED"
    assert show.percent(0.125) == "12.5%"
    assert show.size(31) == "31.0B"
    assert show.size(1536) == "1.5KB"


def test_a_long_table_of_a_description_is_cut_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long = tables.Table("Workloads", "workloads", ["Step"], [[n] for n in range(100)])
    tables.output([long], False, None)
    assert len(capsys.readouterr().out.splitlines()) > 100
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    tables.output([long], False, None)
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) < 24
    assert shown.endswith("(the last 15 of 100 rows; --csv prints all)\n")
    tables.output([long], True, None)
    assert len(capsys.readouterr().out.splitlines()) > 100
