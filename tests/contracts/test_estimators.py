"""Laws that every estimator obeys."""

import numpy as np
import pytest
from sklearn.base import clone

from hypergauss import KPMF, SpectralEmbedding
from tests.contracts.cases import ESTIMATORS
from tests.hypergraphs import relabelled

pytestmark = pytest.mark.usefixtures("few_points")

every_estimator = pytest.mark.parametrize("make", ESTIMATORS, ids=[make.__name__ for make in ESTIMATORS])


def answers(make, H):
    return ESTIMATORS[make](H)


@every_estimator
def test_isolated_vertices_and_awkward_hyperedges_never_give_nan(make, hypergraph):
    assert np.isfinite(answers(make, hypergraph)).all()


@every_estimator
def test_answers_repeat_themselves(make, hypergraph):
    assert np.array_equal(answers(make, hypergraph), answers(make, hypergraph))


@pytest.mark.parametrize("make", [make for make in ESTIMATORS if make is not KPMF])
def test_relabelling_vertices_permutes_the_answers(make, hypergraph, rng):
    order = rng.permutation(hypergraph.num_vertices)
    moved = answers(make, relabelled(hypergraph, order))
    assert np.allclose(moved, answers(make, hypergraph)[order], atol=1e-3)


@every_estimator
def test_parameters_are_stored_as_given_and_cloned(make, hypergraph):
    needs = {"H": hypergraph} if "H" in make._get_param_names() else {}
    model = make(**needs, **({"n_components": 3} if make is SpectralEmbedding else {"random_state": 3}))
    assert clone(model).get_params() == model.get_params()
