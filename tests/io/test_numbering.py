"""Texts are numbered in the order they come, whatever they are made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypergauss.io import numbering

arrow = pytest.importorskip("pyarrow")

TEXTS = st.one_of(
    st.sampled_from(["", "\0", "\0\0", "a", "a\0", "abcdefg", "abcdefgh", "abcdefg\0", "abcdefghi", "é" * 40]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)


def check(column):
    number = {text: position for position, text in enumerate(dict.fromkeys(column.to_pylist()))}
    numbered = numbering.number_text(column)
    assert numbered.codes.tolist() == [number[text] for text in column.to_pylist()]
    assert numbered.names.tolist() == list(number)


@given(st.lists(st.lists(TEXTS, max_size=30), max_size=3), st.sampled_from(["string", "large_string"]))
def test_texts_of_all_kinds_in_any_chunks(chunks, kind):
    check(arrow.chunked_array(chunks, type=kind))


def test_a_slice_is_numbered_by_what_it_holds():
    check(arrow.chunked_array([arrow.array(["x", "long enough for two words", "b", "x", "b"]).slice(1, 3)]))


@pytest.mark.parametrize("different", [3, 20_000])
def test_many_rows_with_few_or_many_names(different):
    rng = np.random.default_rng(0)
    check(arrow.chunked_array([[f"name {i}" for i in rng.integers(different, size=20_000)]]))


def test_names_whose_hashes_keep_meeting_are_left_to_arrow(monkeypatch):
    monkeypatch.setattr(numbering, "_MULTIPLIERS", np.zeros(2, dtype=np.uint64))
    check(arrow.chunked_array([["a", "b", "c", "a"]]))
