"""Log-normal priors: what they are, and what is refused."""

import numpy as np
import pytest
from scipy.stats import norm

from hypergauss.inference import LogNormal


def test_the_log_density_is_that_of_a_normal_logarithm():
    prior, value = LogNormal(3.0, 0.5), np.array([0.7, 4.0])
    assert prior.log_density(value) == pytest.approx(norm.logpdf(np.log(value), np.log(3.0), 0.5).sum())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-1, 1), ValueError, "`median` must be positive. Got -1"),
        ((1.0, 0.0), ValueError, "`spread` must be positive. Got 0"),
        ((np.inf,), ValueError, "`median` must be finite"),
        (("three",), TypeError, "`median` must be a real number. Got str"),
    ],
)
def test_a_prior_that_is_none_is_refused_where_it_is_written(arguments, error, message):
    with pytest.raises(error, match=message):
        LogNormal(*arguments)
