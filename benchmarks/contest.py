"""The rules of the contest with GPJax: one model, one starting point, one way to time, one judge.

The model is y = f + noise with zero mean and f's covariance variance * N * phi / sum(phi) on the eigenvectors of one
Laplacian, phi(l) = (2 nu / lengthscale^2 + l)^-nu: GPJax's GraphKernel and hypergauss's Matern are this same family.
Everything is in float64. A contender brings ``fit``, from its input to learned hyperparameters, and ``evaluate``, one
log evidence with its gradient in all four.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping

import numpy as np
import scipy.linalg
import scipy.stats

from benchmarks.common import start_up, timed

START = {"nu": 1.5, "lengthscale": 5.0, "variance": 1.0, "noise_variance": 0.1}


def contend(
    fit: Callable[[], dict[str, float]], evaluate: Callable[[], object], *, compiles_every_fit: bool = False
) -> None:
    """Time a contender in this fresh process and print the outcome as JSON.

    ``first`` and ``again`` are whole fits, with compilation and with what was compiled before (the same one for a
    contender that compiles at every fit); ``evaluation`` is the median of ten, compiled before; ``start_up`` is what
    the process spent before all this.
    """
    started = start_up()
    first, learned = timed(fit)
    again = first if compiles_every_fit else timed(fit)[0]
    evaluate()
    evaluation = statistics.median(timed(evaluate)[0] for _ in range(10))
    times = {"start_up": started, "first": first, "again": again, "evaluation": evaluation}
    print(json.dumps(times | {"learned": learned}))


def spectral_weights(eigenvalues: np.ndarray, nu: float, lengthscale: float, variance: float) -> np.ndarray:
    """Return variance * N * phi / sum(phi); an infinite nu is the diffusion kernel."""
    scaled = lengthscale**2 * eigenvalues / 2
    log_phi = -scaled if np.isinf(nu) else -nu * np.log1p(scaled / nu)
    phi = np.exp(log_phi - log_phi.max())
    return variance * len(phi) * phi / phi.sum()


def judge(laplacian: np.ndarray, rows: np.ndarray, targets: np.ndarray, learned: Mapping[str, float]) -> float:
    """Return the log evidence of learned hyperparameters, by SciPy's multivariate normal; -inf if they are NaN."""
    if np.isnan(list(learned.values())).any():
        return -np.inf
    kernel = {name: value for name, value in learned.items() if name != "noise_variance"}
    eigenvalues, vectors = scipy.linalg.eigh(laplacian)
    U = vectors[rows]
    covariance = (U * spectral_weights(np.maximum(eigenvalues, 0.0), **kernel)) @ U.T
    covariance[np.diag_indices_from(covariance)] += learned["noise_variance"]
    factor = scipy.stats.Covariance.from_cholesky(np.linalg.cholesky(covariance))
    return float(scipy.stats.multivariate_normal(cov=factor).logpdf(targets))
