"""Which lines of a pod's log are copied, whatever is read again and from where."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from determined_master.backends.kubernetes.log.log_lines import PodLogLine
from determined_master.backends.kubernetes.log.log_position import (
    MARGIN_US,
    SECOND_US,
    LogCount,
    LogPosition,
)
from determined_master.ports.orders import LogPlace

BEGIN_US = 1_800_000_000 * SECOND_US


def lines(*at: int) -> list[PodLogLine]:
    return [PodLogLine(n, b"%d" % n) for n in at]


def taken(position: LogPosition, reading: list[PodLogLine]) -> list[bytes]:
    position.begin()
    return [line.text for line in reading if position.is_new(line)]


def test_a_log_that_is_read_again_gives_each_line_once() -> None:
    position = LogPosition(LogPlace())
    assert taken(position, lines(1, 3, 2)) == [b"1", b"3", b"2"]
    assert taken(position, lines(1, 3, 2, 2, 4)) == [b"2", b"4"]
    assert taken(position, lines(1, 3)) == []
    assert taken(position, lines(1, 3, 2, 2, 4, 5)) == [b"5"]


def test_a_new_master_continues_behind_what_is_stored() -> None:
    position = LogPosition(LogPlace.whole(total=2, first_at_us=1, last_at_us=3))
    assert taken(position, lines(1, 3, 2)) == [b"2"]


def test_of_a_log_that_was_put_aside_only_later_lines_are_new() -> None:
    place = LogPlace.whole(total=900, first_at_us=1, last_at_us=50)
    assert taken(LogPosition(place), lines(40, 50, 51)) == [b"51"]


def test_a_message_of_the_kubelet_counts_as_no_line_of_the_log() -> None:
    position = LogPosition(LogPlace())
    assert taken(position, lines(1, 0, 2)) == [b"1", b"0", b"2"]
    assert taken(position, lines(1, 2, 3)) == [b"3"]


def place_after(*at: int) -> LogPlace:
    count = LogCount(LogPlace())
    for each in at:
        count.add(each)
    return count.place()


def test_a_long_log_is_read_from_a_whole_second_and_a_margin_before_its_end() -> None:
    times = [BEGIN_US + n * MARGIN_US + 123_456 for n in range(5)]
    place = place_after(*times)
    assert place.since_us == BEGIN_US + 3 * MARGIN_US
    assert place.since_count == 2
    assert LogPosition(place).since() == "2027-01-15T08:15:00Z"


def test_a_log_of_a_few_minutes_is_read_from_its_beginning() -> None:
    place = place_after(BEGIN_US, BEGIN_US + MARGIN_US - SECOND_US)
    assert LogPosition(place).since() == ""


def test_after_a_clock_that_was_set_back_a_log_is_read_from_its_beginning() -> None:
    times = [BEGIN_US + n * MARGIN_US for n in range(5)]
    place = place_after(*times, BEGIN_US - SECOND_US)
    assert (place.since_us, place.since_count) == (0, 6)
    assert taken(LogPosition(place), lines(*times, BEGIN_US - SECOND_US, BEGIN_US)) == [
        b"%d" % BEGIN_US
    ]


@dataclass
class Kubelet:
    """A log whose lines have unique texts; a rotation puts all lines so far aside."""

    times: list[int] = field(default_factory=list)
    begin: int = 0

    def reading(self, since: str, since_us: int) -> list[PodLogLine]:
        """What a request gives."""
        lines = [PodLogLine(at, b"%d" % n) for n, at in enumerate(self.times)]
        return [line for line in lines[self.begin :] if not since or line.at_us >= since_us]


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("write"),
            # Microseconds from one line to the next: none, small ones, back, and long ones.
            st.sampled_from(
                [0, 1, 700, SECOND_US // 2, -3, -SECOND_US, MARGIN_US, MARGIN_US // 2]
            ),
        ),
        st.tuples(st.just("read"), st.integers(0, 3)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS)
def test_each_line_is_copied_once_whatever_is_read_when(steps: list[tuple[str, int]]) -> None:
    kubelet = Kubelet()
    now_us, copied = BEGIN_US, list[bytes]()
    position, stored = LogPosition(LogPlace()), LogCount(LogPlace())

    def read(left_out: int) -> None:
        since_us = stored.since_us
        reading = kubelet.reading(position.since(), since_us)
        position.begin()
        for line in reading[: len(reading) - left_out]:
            if position.is_new(line):
                copied.append(line.text)
                stored.add(line.at_us)

    for step, number in steps:
        if step == "write":
            now_us += number
            kubelet.times.append(now_us)
        elif step == "read":
            read(number)
        else:
            known = msgspec.json.decode(msgspec.json.encode(stored.place()), type=LogPlace)
            position, stored = LogPosition(known), LogCount(known)
    read(0)
    assert copied == [b"%d" % n for n in range(len(kubelet.times))]


@given(STEPS, st.integers(0, 30))
def test_a_rotated_log_gives_no_line_twice_and_all_later_ones(
    steps: list[tuple[str, int]], rotated: int
) -> None:
    kubelet = Kubelet()
    now_us = BEGIN_US
    for _, number in steps:
        now_us += abs(number) + 1
        kubelet.times.append(now_us)
    count = LogCount(LogPlace())
    copied = len(kubelet.times) // 2
    for at in kubelet.times[:copied]:
        count.add(at)
    kubelet.begin = min(rotated, copied)
    position = LogPosition(count.place())
    reading = kubelet.reading(position.since(), count.since_us)
    assert taken(position, reading) == [b"%d" % n for n in range(copied, len(kubelet.times))]
