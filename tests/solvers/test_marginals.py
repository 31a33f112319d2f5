"""Derivatives written by hand are those of the formulas they stand for, negative precisions and weights included."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hypergauss.solvers.marginals import coefficient_covariance, posterior_covariance


def symmetric(rng, n):
    root = rng.standard_normal((n, n))
    return jnp.asarray(root @ root.T / n + 0.1 * np.eye(n))


def plain_posterior(K, b):
    S = jnp.linalg.inv(jnp.linalg.inv(K) + jnp.diag(b))
    return S, jnp.linalg.slogdet(jnp.eye(len(b)) + K * b)[1]


def plain_coefficients(G, w):
    C = w[:, None] * jnp.linalg.inv(jnp.eye(len(w)) + G * w)
    sign, log_det = jnp.linalg.slogdet(jnp.eye(len(w)) + G * w)
    return C, log_det, sign


@pytest.mark.parametrize(
    ("ours", "plain"), [(posterior_covariance, plain_posterior), (coefficient_covariance, plain_coefficients)]
)
def test_values_and_derivatives_are_those_of_the_plain_formula(rng, ours, plain):
    matrix = symmetric(rng, 6)
    numbers = jnp.asarray(rng.uniform(-0.2, 2.0, 6))
    numbers = numbers.at[1].set(-0.1)
    weight = jnp.asarray(rng.standard_normal((6, 6)))

    def total(function, matrix, numbers):
        matrix = (matrix + matrix.T) / 2  # derivatives are for symmetric matrices
        covariance, log_det, *_ = function(matrix, numbers)
        return (weight * covariance).sum() + 0.7 * log_det

    for got, wanted in zip(ours(matrix, numbers), plain(matrix, numbers), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)
    got = jax.grad(total, argnums=(1, 2))(ours, matrix, numbers)
    wanted = jax.grad(total, argnums=(1, 2))(plain, matrix, numbers)
    for own, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-11)
