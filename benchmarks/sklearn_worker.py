"""Contender: scikit-learn's Gaussian processes on the rows of the incidence matrix, its inputs as they are.

``python -m benchmarks.sklearn_worker regression|classification PATH PATH``
"""

from __future__ import annotations

import sys
import warnings

from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.congress import contend
from benchmarks.problem import Problem


def regression(problem: Problem) -> float:
    X, kernel = problem.incidence.toarray(), ConstantKernel() * RBF() + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1, random_state=0)
    model.fit(X[problem.rows], problem.targets).predict(X[problem.vertices()], return_std=True)
    return float(model.log_marginal_likelihood_value_)


def classification(problem: Problem) -> float:
    X = problem.incidence.toarray()
    model = GaussianProcessClassifier(ConstantKernel() * RBF(), random_state=0)
    model.fit(X[problem.rows], problem.targets).predict_proba(X[problem.vertices()])
    return float(model.log_marginal_likelihood_value_)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of hyperparameters at the ends of their range
    contend({"regression": regression, "classification": classification}[sys.argv[1]], sys.argv[2:])
