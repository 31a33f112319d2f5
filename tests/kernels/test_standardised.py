"""The standardised kernel's derivatives where both sides are the same vertices."""

import copy

import numpy as np
import pytest

from hypergauss import Spectrum, parameters
from hypergauss.kernels import ShapedWalk, Standardised, Walk
from tests.hypergraphs import random_hypergraph

SPECTRUM = Spectrum.of(random_hypergraph(30, 20, seed=0))


@pytest.mark.parametrize("part", [Walk, ShapedWalk])
@pytest.mark.parametrize("level", [0.0, 1.0])
def test_slopes_of_a_gram_matrix_are_those_of_covariances_between_equal_vertices(part, level):
    kernel = Standardised(part(SPECTRUM), level=level)
    one, other = kernel.inputs(np.arange(12)), kernel.inputs(np.arange(12))
    adjoint = np.random.default_rng(0).normal(size=(12, 12))  # not symmetric
    assert np.allclose(kernel.pull_back(one, one, adjoint), kernel.pull_back(one, other, adjoint), rtol=1e-10)
    assert np.array_equal(kernel.cross(one, one), kernel.cross(one, copy.copy(one)))
    expected = parameters.pull_back(kernel, lambda moved: moved.cross(one, one), adjoint)
    assert np.allclose(kernel.pull_back(one, one, adjoint), expected, rtol=1e-8)
