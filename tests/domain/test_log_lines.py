"""Lines of logs in their stored form."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.log_lines import original, storable


@given(st.text(alphabet=st.sampled_from("a0\0␛␀"), max_size=8))
def test_a_stored_line_comes_back_as_it_was(text: str) -> None:
    assert "\0" not in storable(text)
    assert original(storable(text)) == text
