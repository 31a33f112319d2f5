"""Helpers for blocks: every column once, and numbers where they belong."""

import numpy as np
import pytest

from hypergauss.operators import COLUMNS_AT_ONCE, LocalLaplacian, column_slices, scattered
from hypergauss.spectrum import normalised_incidence
from tests.hypergraphs import random_hypergraph


@pytest.mark.parametrize("number", [0, 1, 15, 16, 17, 40])
def test_slices_hold_every_column_once_and_none_too_many(number):
    slices = list(column_slices(number))
    assert np.array_equal(np.concatenate([np.arange(number)[part] for part in slices] or [[]]), np.arange(number))
    assert all(0 < part.stop - part.start <= COLUMNS_AT_ONCE for part in slices)


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3)])
def test_numbers_are_put_at_their_rows_among_zeros(shape, rng):
    operator = LocalLaplacian.of_incidence(normalised_incidence(random_hypergraph(12, 8, seed=1)))
    rows, values = np.array([7, 2, 11, 0]), rng.standard_normal(shape)
    whole = operator.array(scattered(operator, rows, values))
    assert np.array_equal(whole[rows], values.reshape(4, -1))
    assert not whole[np.setdiff1d(np.arange(12), rows)].any()


def test_no_rows_give_zeros():
    operator = LocalLaplacian.of_incidence(normalised_incidence(random_hypergraph(12, 8, seed=1)))
    assert np.array_equal(scattered(operator, np.zeros(0, dtype=int), np.zeros(0)), np.zeros((12, 1)))
