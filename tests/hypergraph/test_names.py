import numpy as np
import pandas as pd
import pytest

from hypergauss.hypergraph.names import as_list, locate, make_index, unique_index

OWNER = {"argument": "vertices", "owner": "the hypergraph (3 vertices)", "cure": "Add them."}


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b", "c"],
        [("a", 1), ("a", 2), ("b", 1)],
        [1, "1", 2.5],
        [frozenset({1}), frozenset({2}), b"c"],
        np.array(["x", "y", "z"]),
        pd.Index([10, 20, 30]),
        [2**70, 2**71, 2**72],
    ],
)
def test_any_hashable_name_is_found_where_it_was_put(names):
    index = make_index(names, 3, of="vertices")
    assert locate(index, [names[2], names[0]], **OWNER).tolist() == [2, 0]


def test_names_default_to_a_range_that_costs_no_memory():
    index = make_index(None, 10**9, of="vertices")
    assert isinstance(index, pd.RangeIndex)
    assert locate(index, [5, 10**9 - 1], **OWNER).tolist() == [5, 10**9 - 1]


def test_text_never_matches_a_number():
    with pytest.raises(ValueError, match="Got '1'"):
        locate(make_index(None, 3, of="vertices"), ["1"], **OWNER)


@pytest.mark.parametrize(
    "column", [np.array([["a"], ["b"]]), pd.DataFrame({"vertex": ["a", "b"]}), pd.Series(["a", "b"])]
)
def test_one_column_of_names_counts_as_a_list(column):
    assert list(as_list(column)) == ["a", "b"]


class ForeignArray:
    """An array of another library, which NumPy can read."""

    def __init__(self, values):
        self.values = np.array(values)

    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __len__(self):
        return len(self.values)

    def __iter__(self):  # its entries are arrays of its own, which have no hash
        return (ForeignArray(value) for value in self.values)

    def __getitem__(self, entry):
        return ForeignArray(self.values[entry])

    __hash__ = None


def test_other_libraries_arrays_of_indices_are_names_too():
    assert locate(make_index(None, 3, of="vertices"), ForeignArray([2, 0]), **OWNER).tolist() == [2, 0]


def test_two_columns_of_names_are_refused_with_their_shape():
    with pytest.raises(ValueError, match=r"1-D array.*\(2, 2\)"):
        as_list(np.zeros((2, 2)))


def test_a_single_string_is_not_taken_for_its_letters():
    with pytest.raises(TypeError, match=r"pass \['abc'\]"):
        as_list("abc")


def test_unknown_names_are_quoted_and_counted():
    with pytest.raises(ValueError, match=r"must belong to .*3 vertices.*'v0', 'v1', 'v2' and 7 others.*Add them"):
        locate(unique_index(["a", "b", "c"], of="vertices"), [f"v{i}" for i in range(10)], **OWNER)


def test_duplicate_names_are_refused_by_name():
    with pytest.raises(ValueError, match=r"different names.*'a'.*more than once"):
        unique_index(["a", "b", "a"], of="vertices")


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NaT])
def test_missing_names_are_refused_with_their_position(missing):
    with pytest.raises(ValueError, match=r"missing names.*position 1"):
        unique_index(["a", missing], of="vertices")


def test_unhashable_names_are_refused():
    with pytest.raises(TypeError, match="hashable"):
        unique_index([["a"], ["b"]], of="vertices")


def test_the_number_of_names_must_be_right():
    with pytest.raises(ValueError, match=r"each of the 3 vertices once. Got 2 names"):
        make_index(["a", "b"], 3, of="vertices")
