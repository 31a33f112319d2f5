"""Sets that no setting was chosen on: how tables and ratings become hypergraphs."""

import numpy as np
import pandas as pd

from hypergauss.experiments.benchmarks import CLASSES, VALUES
from hypergauss.experiments.untuned import UNTUNED_CLASSES, UNTUNED_VALUES, in_fifths


def test_a_row_is_in_one_fifth_of_each_column_and_fifths_are_of_equal_size():
    table = pd.DataFrame({"height": np.arange(10.0), "weight": np.arange(10.0)[::-1]})
    H = in_fifths(table)
    assert H.num_edges == 10
    assert (H.incidence.sum(axis=0) == 2).all()
    assert (H.incidence.sum(axis=1) == 2).all()
    assert list(H.incidence[[0]].toarray().ravel() > 0) == [edge in {("height", 0), ("weight", 4)} for edge in H.edges]


def test_tied_values_share_a_hyperedge():
    assert in_fifths(pd.DataFrame({"x": [0, 0, 0, 0, 0, 0, 0, 0, 1, 2]})).num_edges == 2


def test_what_is_asked_for_is_no_hyperedge():
    for name, column in (("body of cars", "body-style"), ("driven wheels of cars", "drive-wheels")):
        found = UNTUNED_CLASSES[name]()
        assert found.num_train == 41
        assert found.hypergraph.num_edges == 66 - len(np.unique(found.target)), column


def test_names_of_sets_are_told_apart():
    assert not {*UNTUNED_CLASSES, *UNTUNED_VALUES} & {*CLASSES, *VALUES}
