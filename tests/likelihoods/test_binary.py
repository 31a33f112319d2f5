import numpy as np
import pytest
from scipy.special import log_expit
from scipy.stats import norm

from hypergauss.likelihoods import Bernoulli
from tests import oracles


@pytest.mark.parametrize(("link", "log_probability"), [("logit", log_expit), ("probit", norm.logcdf)])
@pytest.mark.parametrize("std", [0.1, 2.0, 5.0])
def test_wide_and_narrow_gaussians_are_integrated_alike(link, log_probability, std):
    for mean in (-4.0, 0.0, 1.5):
        expected = oracles.gaussian_expectation(
            lambda f: log_probability(f[:, 0]), np.array([mean]), np.array([std**2])
        )
        found = Bernoulli(link).expected_log_density(np.array([[mean]]), np.array([[std**2]]), np.ones(1))
        assert found[0] == pytest.approx(expected, abs=1e-7)


def test_an_unknown_link_is_refused():
    with pytest.raises(ValueError, match="`link` must be one of 'logit', 'probit'"):
        Bernoulli("cauchit")
