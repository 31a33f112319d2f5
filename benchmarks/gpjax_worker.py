"""Contender: GPJax 1.0's GraphKernel. ``python -m benchmarks.gpjax_worker PROBLEM LAPLACIAN own|scipy``.

Runs in GPJax's own environment. The kernel takes a dense Laplacian, which is made for it outside of the timing, and
vertices as an integer column. Two ways to fit:

own
    `gpjax.fit_lbfgs` with its defaults. (`gpjax.fit_scipy` cannot run here: it counts the Laplacian and its
    eigenvectors as parameters and asks BFGS for a matrix of their number squared, 29 TiB at N = 1,000.)
scipy
    What a careful user would write: GPJax's objective, differentiated in the four hyperparameters alone and compiled
    once, given to SciPy's L-BFGS-B with the settings that hypergauss uses.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache

import equinox as eqx
import gpjax as gpx
import jax
import jax.numpy as jnp
import numpy as np
from gpjax.kernels.base import val
from scipy.optimize import minimize

from benchmarks.contest import START, contend
from benchmarks.problem import Problem

jax.config.update("jax_enable_x64", True)
warnings.filterwarnings("ignore", message="X is not of type float64")  # vertices are integers

problem = Problem.load(sys.argv[1])
laplacian = np.load(sys.argv[2])
data = gpx.Dataset(X=jnp.asarray(problem.rows)[:, None], y=jnp.asarray(problem.targets)[:, None])


def start():
    kernel = gpx.kernels.GraphKernel(
        laplacian, lengthscale=START["lengthscale"], variance=START["variance"], smoothness=START["nu"]
    )
    prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel)
    return prior * gpx.likelihoods.Gaussian(obs_stddev=np.sqrt(START["noise_variance"]))


def loss(model, data):
    return -gpx.objectives.conjugate_mll(model, data)


def parameters(model):
    """Return the four hyperparameters, wrapped as GPJax keeps them, in the order of START."""
    kernel = model.prior.kernel
    return [kernel.smoothness, kernel.lengthscale, kernel.variance, model.likelihood.obs_stddev]


@eqx.filter_jit
def value_and_gradient(theta, model, data):
    """Return the loss and its gradient in the four unconstrained hyperparameters."""

    def at(theta):
        return loss(eqx.tree_at(lambda m: [p._unconstrained for p in parameters(m)], model, list(theta)), data)

    return jax.value_and_grad(at)(theta)


def pack(model):
    return jnp.stack([parameter._unconstrained for parameter in parameters(model)])


def fit_own():
    model, _ = gpx.fit_lbfgs(model=start(), objective=loss, train_data=data)
    return learned(model)


def fit_scipy():
    model, count = start(), len(problem.targets)

    def scaled(theta):
        value, gradient = value_and_gradient(jnp.asarray(theta), model, data)
        return float(value) / count, np.asarray(gradient) / count

    options = {"maxiter": 200, "ftol": 1e-10, "gtol": 1e-6}
    result = minimize(scaled, np.asarray(pack(model)), jac=True, method="L-BFGS-B", options=options)
    return learned(eqx.tree_at(lambda m: [p._unconstrained for p in parameters(m)], model, list(jnp.asarray(result.x))))


def learned(model):
    nu, lengthscale, variance, noise = (float(val(parameter)) for parameter in parameters(model))
    return dict(zip(START, (nu, lengthscale, variance, noise**2), strict=True))


@cache
def prepared():
    """Return the start and its model: made when first evaluated, since its eigenvectors are no part of the start-up."""
    model = start()
    return pack(model), model


if __name__ == "__main__":
    own = sys.argv[3] == "own"
    contend(
        fit_own if own else fit_scipy,
        lambda: jax.block_until_ready(value_and_gradient(*prepared(), data)),
        compiles_every_fit=own,
    )
