import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from hypergauss import Hypergraph
from hypergauss.datasets import load_zoo
from hypergauss.embedding.memberships import Memberships, check_missing, expected
from tests.hypergraphs import random_hypergraph

ZOO = load_zoo().hypergraph


def test_gram_roots_hold_every_known_column(rng):
    H = random_hypergraph(6, 15, seed=0, density=0.5)
    hidden = np.zeros((6, 15), dtype=bool)
    hidden[2, 4:8] = hidden[0, 7] = True
    data = Memberships.of(H, hidden)
    for p, (known, root, columns) in enumerate(data.by_pattern()):
        Y = data.values[:, data.pattern_of == p]
        assert np.array_equal(known, np.flatnonzero(data.patterns[p]))
        assert np.allclose(root @ root.T, (Y @ Y.T)[np.ix_(known, known)])
        assert root.shape[1] <= len(known)
        assert columns == Y.shape[1]
    assert len(data.by_pattern()) == len(data.patterns) > 1
    assert data.num_known == (~hidden[:, data.edges]).sum()


def test_hyperedges_without_known_members_are_left_out():
    H = Hypergraph.from_edges([["a", "b"], [], ["c"]], vertices=["a", "b", "c"])
    hidden = np.zeros((3, 3), dtype=bool)
    assert Memberships.of(H, None).edges.tolist() == [0, 2]
    hidden[2, 2] = True
    assert Memberships.of(H, hidden).edges.tolist() == [0]


@pytest.mark.parametrize("form", ["array", "sparse", "frame", "part of a frame"])
def test_masks_come_in_several_forms(form):
    mask = np.zeros(ZOO.incidence.shape, dtype=bool)
    mask[3, 5] = True
    frame = pd.DataFrame(mask, index=ZOO.vertices, columns=pd.Index(ZOO.edges, tupleize_cols=False))
    given = {
        "array": mask,
        "sparse": sp.csr_array(mask),
        "frame": frame.iloc[::-1, ::-1],
        "part of a frame": frame.iloc[:5, 3:7],
    }[form]
    assert np.array_equal(check_missing(ZOO, given), mask)
    assert check_missing(ZOO, ~(mask | ~mask)) is None


def test_unknown_memberships_are_expected_at_their_hyperedges_mean():
    H = Hypergraph.from_incidence([[1, 1], [0, 1], [1, 0], [1, 0]], weights=[2.0, 1.0])
    hidden = np.array([[True, False], [False, False], [False, False], [False, True]])
    filled = expected(H, hidden)
    assert np.allclose(filled.incidence.toarray(), [[2 / 3, 1], [0, 1], [1, 0], [1, 2 / 3]])
    assert np.array_equal(filled.weights, H.weights)
    assert expected(H, None) is H
