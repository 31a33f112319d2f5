"""Contender: GPflow. ``python -m benchmarks.gpflow_worker PATH PATH LAPLACIAN scipy|NATURAL ADAM STEPS``.

Runs in GPflow's own environment: a VGP with the robust-max likelihood and one Matern kernel, on a dense Laplacian that
is made for it outside of the timing, for the latent functions of all classes. Two ways to fit:

NATURAL ADAM STEPS
    The paper's recipe: so many steps, each one of natural gradients for q and one of Adam for the hyperparameters, at
    the learning rates given. All steps are one compiled loop.
scipy
    `gpflow.optimizers.Scipy` with its defaults: L-BFGS-B in q and hyperparameters together.

The model is made once a process. Another partition is assigned to its variables, so that nothing is compiled again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}  # before TensorFlow is imported

import gpflow
import numpy as np
import tensorflow as tf

from benchmarks.congress import contend
from benchmarks.contest import START
from benchmarks.problem import Problem

NUM_CLASSES = 3
threads = int(os.environ["OPENBLAS_NUM_THREADS"])
tf.config.threading.set_intra_op_parallelism_threads(threads)
tf.config.threading.set_inter_op_parallelism_threads(threads)


class GraphMatern(gpflow.kernels.Kernel):
    """Covariance variance * N * phi / sum(phi) on the eigenvectors, phi(l) = (2 nu / lengthscale^2 + l)^-nu."""

    def __init__(self, laplacian: np.ndarray) -> None:
        super().__init__()
        eigenvalues, vectors = np.linalg.eigh(laplacian)
        self.eigenvalues, self.vectors = tf.constant(np.maximum(eigenvalues, 0.0)), tf.constant(vectors)
        for name in ("nu", "lengthscale", "variance"):
            setattr(self, name, gpflow.Parameter(START[name], transform=gpflow.utilities.positive()))

    def weights(self) -> tf.Tensor:  # noqa: D102
        phi = tf.exp(-self.nu * tf.math.log1p(self.lengthscale**2 * self.eigenvalues / (2 * self.nu)))
        return self.variance * len(self.eigenvalues) * phi / tf.reduce_sum(phi)

    def K(self, X, X2=None):  # noqa: D102, N802
        U = self._rows(X)
        return tf.matmul(U * self.weights(), U if X2 is None else self._rows(X2), transpose_b=True)

    def K_diag(self, X):  # noqa: D102, N802
        return tf.linalg.matvec(self._rows(X) ** 2, self.weights())

    def _rows(self, X):
        return tf.gather(self.vectors, tf.cast(X[:, 0], tf.int32))


class Contender:
    """A VGP and its training: made and compiled at the first fit, used again by the next."""

    def __init__(self, laplacian: np.ndarray, problem: Problem) -> None:
        self.data = tuple(tf.Variable(column, trainable=False) for column in columns(problem))
        self.model = gpflow.models.VGP(
            self.data,
            GraphMatern(laplacian),
            gpflow.likelihoods.MultiClass(NUM_CLASSES),
            gpflow.functions.Constant(np.zeros(NUM_CLASSES)),
            num_latent_gps=NUM_CLASSES,
        )
        if sys.argv[4] == "scipy":
            self.train, state = by_scipy(self.model), []
        else:
            self.train, state = by_recipe(self.model, float(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6]))
        self.start = [(variable, variable.numpy()) for variable in (*self.model.variables, *state)]

    def fit(self, problem: Problem) -> float:
        """Start afresh on a problem and return the bound reached."""
        for variable, value in (*self.start, *zip(self.data, columns(problem), strict=True)):
            variable.assign(value)
        self.train()
        return float(self.model.elbo())


def columns(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    return problem.rows[:, None].astype(float), problem.targets[:, None].astype(float)


def by_scipy(model: gpflow.models.VGP) -> Callable[[], object]:
    optimizer = gpflow.optimizers.Scipy()  # keeps what it compiled
    return lambda: optimizer.minimize(model.training_loss, model.trainable_variables)


def by_recipe(model: gpflow.models.VGP, natural: float, adam: float, steps: int) -> tuple[Callable[[], None], list]:
    q = (model.q_mu, model.q_sqrt)
    for part in q:
        gpflow.set_trainable(part, False)  # not Adam's
    hyperparameters = model.trainable_variables
    by_nature, by_adam = gpflow.optimizers.NaturalGradient(natural), tf.optimizers.Adam(adam)
    by_adam.build(hyperparameters)

    @tf.function
    def train() -> None:
        for _ in tf.range(steps):
            by_nature.minimize(model.training_loss, [q])
            with tf.GradientTape() as tape:
                loss = model.training_loss()
            by_adam.apply_gradients(zip(tape.gradient(loss, hyperparameters), hyperparameters, strict=True))

    return train, by_adam.variables


if __name__ == "__main__":
    laplacian, made = np.load(sys.argv[3]), []

    def fit(problem: Problem) -> float:
        if not made:
            made.append(Contender(laplacian, problem))
        return made[0].fit(problem)

    contend(fit, sys.argv[1:3])
