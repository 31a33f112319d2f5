"""The theory's page on duality: filters commute with handing a function over to the other side."""

import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.kernels import Bernstein, Diffusion, Matern


@pytest.mark.parametrize("family", [Matern, Diffusion, Bernstein])
def test_filtering_before_or_after_the_other_side_hears_is_the_same(hypergraph, family):
    spectrum = Spectrum.of(hypergraph)
    A = spectrum.source.incidence.scipy().toarray()
    K = np.asarray(family(spectrum, normalise=False).gram())
    dual = np.asarray(family(spectrum.dual(), normalise=False).gram())
    np.testing.assert_allclose(A.T @ K, dual @ A.T, atol=1e-12)
    np.testing.assert_allclose(A.T @ K @ A, dual @ A.T @ A, atol=1e-12)
    background = float(np.asarray(family(spectrum, normalise=False).filter(np.ones(1)))[0])
    N, M = A.shape
    assert np.trace(K) - np.trace(dual) == pytest.approx((N - M) * background)


def test_the_duals_dual_has_the_same_normalised_incidence(hypergraph):
    first, second = (Spectrum.of(H).source.incidence.scipy().toarray() for H in (hypergraph, hypergraph.dual().dual()))
    np.testing.assert_allclose(first, second, atol=1e-14)
