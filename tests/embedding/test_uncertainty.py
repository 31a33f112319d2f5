import numpy as np
import pytest

from hypergauss import parameters
from hypergauss.embedding.prediction import condition_exactly
from hypergauss.embedding.uncertainty import coordinate_covariances, log_likelihood_hessian
from tests.embedding.models import KINDS, case


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_second_derivatives_match_central_differences_of_the_gradient(kind):
    c = case(**kind)
    objective = c.objective()
    theta = parameters.pack(c.model)
    where = c.where_coordinates_are()

    def slope(coordinates):
        theta[where] = coordinates
        return objective.value_and_gradient(parameters.unpack(c.model, theta))[1][where]

    here, step = theta[where], 1e-5 * np.eye(len(where))
    rows = [(slope(here + move) - slope(here - move)) / 2e-5 for move in step]
    prior = -(float(c.model.latent_lengthscale) ** 2) * np.eye(len(where))
    found = log_likelihood_hessian(c.covariances(), c.data, condition_exactly(c.covariances(), c.data))
    assert np.allclose(found + prior, rows, rtol=1e-5, atol=1e-4)


def test_no_coordinate_is_less_sure_than_under_the_prior():
    c = case()
    covariances = coordinate_covariances(c.covariances(), c.data, condition_exactly(c.covariances(), c.data))
    values = np.linalg.eigvalsh(covariances)
    assert values.min() >= 0
    assert values.max() <= 1 / float(c.model.latent_lengthscale) ** 2
