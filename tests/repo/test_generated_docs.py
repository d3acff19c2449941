"""What tools/generate_docs.py writes is committed as it writes it."""

from tools.generate_docs import stale


def test_the_committed_reference_pages_are_what_the_generator_writes() -> None:
    assert stale() == []
