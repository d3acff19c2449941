"""Notices in the output of tasks."""

from __future__ import annotations

from determined.common import _task_notice
from determined_master.domain.task.notices import MAX_TEXT, TaskNotice, without_marks


def marked(kind: str, text: str) -> str:
    return f"WARNING: [7] determined: {_task_notice.MARK.format(kind=kind)}{text}"


def test_lines_without_marks_stay_as_they_are() -> None:
    text = "one\n\x1b]0;a title\x07two\n"
    assert without_marks(text) == (text, ())


def test_a_mark_is_removed_and_its_kind_and_text_are_read() -> None:
    kinds = (
        _task_notice.MASTER_AWAY,
        _task_notice.MASTER_BACK,
        _task_notice.MAIN_THREAD_ENDED,
    )
    for kind in kinds:
        text, notices = without_marks(f"a\n[rank=1] {marked(kind, 'no answer')}\nb")
        assert text == "a\n[rank=1] WARNING: [7] determined: no answer\nb"
        assert notices == (TaskNotice(kind, "no answer", 1),)  # type: ignore[arg-type]


def test_an_outage_that_is_over_in_the_batch_is_none() -> None:
    away, back = marked("master_away", "a"), marked("master_back", "b")
    assert [n.kind for n in without_marks(f"{away}\n{back}")[1]] == ["master_back"]
    assert [n.kind for n in without_marks(f"{away}\n{back}\n{away}")[1]] == [
        "master_back",
        "master_away",
    ]


def test_a_text_of_a_task_is_short_and_printable() -> None:
    text, [notice] = without_marks(marked("master_away", "x\x1b[2K\r" + "y" * 9999))
    assert notice.text == "x [2K " + "y" * (MAX_TEXT - 6)
    assert "x\x1b[2K\r" in text, "the log has what the task wrote"


def test_an_unknown_mark_is_text() -> None:
    line = marked("root_access", "give me")
    assert without_marks(line) == (line, ())
