"""The check vectors were drawn with NumPy's `RandomState`."""

import uuid

import pytest
from tests.covers import covers

from determined_master.domain.search.stream import Stream


@covers("experiment-config 10.vector 10.rng")
def test_bounded_draws_are_those_of_the_legacy_random_state() -> None:
    stream = Stream(42)
    assert [stream.up_to(9) for _ in range(10)] == [6, 3, 7, 4, 6, 9, 2, 6, 7, 4]


@covers("experiment-config 10.vector")
def test_trial_seeds_are_those_of_the_legacy_random_state() -> None:
    stream = Stream(999)
    drawn = [stream.up_to(2**31 - 1) for _ in range(3)]
    assert drawn == [1303213504, 648491356, 118207333]


@covers("experiment-config 10.rng")
def test_doubles_are_those_of_the_legacy_random_state() -> None:
    stream = Stream(42)
    assert [stream.double() for _ in range(3)] == [
        0.3745401188473625,
        0.9507143064099162,
        0.7319939418114051,
    ]


@covers("experiment-config 10.rng")
def test_a_limit_above_32_bits_takes_two_words_high_one_first() -> None:
    stream = Stream(7)
    drawn = [stream.up_to(2**40 - 1) for _ in range(3)]
    assert drawn == [752595690692, 108744157686, 291964244179]
    assert stream.position == 6


def test_a_limit_of_zero_draws_nothing() -> None:
    stream = Stream(1)
    assert (stream.up_to(0), stream.position) == (0, 0)


@covers("experiment-config 10.draw_order")
def test_a_uuid_is_four_little_endian_words_with_the_bits_of_version_4() -> None:
    words = Stream(42)
    raw = bytearray(b"".join(words.word().to_bytes(4, "little") for _ in range(4)))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    assert Stream(42).uuid4() == str(uuid.UUID(bytes=bytes(raw)))
    assert Stream(42).uuid4() == "66dce15f-b33d-4acb-9c03-62f30e95f52e"


@pytest.mark.parametrize("position", [0, 1, 623, 624, 625, 100_000])
def test_a_position_is_found_again_from_either_side(position: int) -> None:
    straight = Stream(5)
    for _ in range(position):
        straight.word()
    ahead, back = Stream(5), Stream(5)
    ahead.seek(position)
    back.seek(position + 1000)
    back.seek(position)
    assert straight.word() == ahead.word() == back.word()
    assert straight.position == ahead.position == back.position == position + 1


def test_only_the_low_32_bits_of_a_seed_count() -> None:
    assert Stream(2**32 + 3).word() == Stream(3).word()
