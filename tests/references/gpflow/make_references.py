"""Make values.json, what GPflow says of small problems, for our tests to agree with.

    .venv-gpflow/bin/python tests/references/gpflow/make_references.py

The environment is made by ``python -m benchmarks.against_gpflow --quick``: GPflow 2.11.2, TensorFlow 2.21.0, NumPy
1.26.4. Every input is stored as numbers. No jitter is added to a covariance: the stored one needs none.

GPflow's Bernoulli is not quite a probit: its link is 0.998 Phi(f) + 0.001. Its values are stored as "probit-damped",
and those with the normal distribution function for the link as "probit". Its softmax draws at random: expectations are
taken by its quadrature in three dimensions instead. Its Ordinal is left out: it takes erf of infinity, which in this
TensorFlow is NaN.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.likelihoods import Bernoulli, Gaussian, MultiClass, Poisson, RobustMax, Softmax, StudentT

NUM_VERTICES, NUM_CLASSES, INDUCING = 12, 3, [0, 3, 5, 8, 11]
EPSILON, NOISE_VARIANCE, SCALE, DF = 1e-3, 0.2, 0.5, 4.0
MEANS = {1: [0.3], NUM_CLASSES: [0.2, -0.1, 0.4]}


class StoredGram(gpflow.kernels.Kernel):
    """The covariance of vertices i and j is the entry (i, j) of a matrix."""

    def __init__(self, gram):
        super().__init__()
        self.gram = tf.constant(gram)

    def K(self, X, X2=None):  # noqa: N802
        rows, columns = (tf.cast(x[:, 0], tf.int32) for x in (X, X if X2 is None else X2))
        return tf.gather(tf.gather(self.gram, rows), columns, axis=1)

    def K_diag(self, X):  # noqa: N802
        return tf.gather(tf.linalg.diag_part(self.gram), tf.cast(X[:, 0], tf.int32))


class QuadratureSoftmax(Softmax):
    """Softmax whose expectations do not depend on random draws."""

    def _variational_expectations(self, X, Fmu, Fvar, Y):
        def log_density(F):
            labels = tf.broadcast_to(tf.cast(Y[:, 0], tf.int32), tf.shape(F)[:-1])
            return -tf.nn.sparse_softmax_cross_entropy_with_logits(logits=F, labels=labels)[..., None]

        return gpflow.quadrature.NDiagGHQuadrature(self.num_classes, 20)(log_density, Fmu, Fvar)[:, 0]


class ExactProbit(Bernoulli):
    """p(y = 1 | f) = Phi(f)."""

    def _scalar_log_prob(self, X, F, Y):
        standard = tfp.distributions.Normal(tf.constant(0.0, F.dtype), tf.constant(1.0, F.dtype))
        return standard.log_cdf((2 * Y - 1) * F)


LIKELIHOODS = {
    "robust-max": lambda: MultiClass(NUM_CLASSES, RobustMax(NUM_CLASSES, EPSILON)),
    "softmax": lambda: QuadratureSoftmax(NUM_CLASSES),
    "probit": lambda: ExactProbit(),
    "probit-damped": lambda: Bernoulli(),
    "logit": lambda: Bernoulli(tf.sigmoid),
    "poisson": lambda: Poisson(),
    "student-t": lambda: StudentT(SCALE, DF),
    "gaussian": lambda: Gaussian(NOISE_VARIANCE),
}
SPARSE = ("robust-max", "softmax", "probit", "probit-damped", "logit", "poisson", "gaussian")


def observations(gram):
    """Return what is observed under each likelihood, drawn from latents with the stored covariance."""
    rng = np.random.default_rng(0)
    f = np.linalg.cholesky(gram) @ rng.standard_normal((NUM_VERTICES, NUM_CLASSES))
    one = f[:, 0]
    classes = f.argmax(axis=1)
    classes[4] = (classes[4] + 1) % NUM_CLASSES  # one label that disagrees with its neighbours
    binary = (one + 0.5 * rng.standard_normal(NUM_VERTICES) > 0).astype(int)
    found = {"robust-max": classes, "softmax": classes}
    found |= dict.fromkeys(("probit", "probit-damped", "logit"), binary)
    found["poisson"] = rng.poisson(np.exp(one))
    found["student-t"] = np.round(one + SCALE * rng.standard_t(DF, NUM_VERTICES), 6)
    found["gaussian"] = np.round(one + np.sqrt(NOISE_VARIANCE) * rng.standard_normal(NUM_VERTICES), 6)
    return found


def model_of(name, gram, inducing):
    """Return an SVGP with free q and everything else held."""
    likelihood = LIKELIHOODS[name]()
    num_latents = NUM_CLASSES if name in ("robust-max", "softmax") else 1
    model = gpflow.models.SVGP(
        StoredGram(gram),
        likelihood,
        np.array(inducing, dtype=float)[:, None],
        mean_function=gpflow.functions.Constant(np.array(MEANS[num_latents])),
        num_latent_gps=num_latents,
        whiten=False,
    )
    for part in (model.likelihood, model.mean_function, model.inducing_variable):
        gpflow.set_trainable(part, False)
    return model, num_latents


def data_of(y):
    return np.arange(NUM_VERTICES, dtype=float)[:, None], np.asarray(y, dtype=float)[:, None]


def start_at_prior(model, gram, inducing):
    """Set q to the prior."""
    root = np.linalg.cholesky(gram[np.ix_(inducing, inducing)])
    model.q_mu.assign(np.zeros(model.q_mu.shape))
    model.q_sqrt.assign(np.broadcast_to(root, model.q_sqrt.shape))


def maximise(model, data, gamma=0.2):
    """Take natural-gradient steps until the bound has no slope left, and return it."""
    optimizer = gpflow.optimizers.NaturalGradient(gamma)
    loss = model.training_loss_closure(data)
    step = tf.function(lambda: optimizer.minimize(loss, [(model.q_mu, model.q_sqrt)]))
    for taken in range(10_000):
        step()
        if taken % 100 == 0:
            with tf.GradientTape() as tape:
                value = loss()
            slopes = tape.gradient(value, model.trainable_variables)
            if max(float(tf.reduce_max(tf.abs(slope))) for slope in slopes) < 1e-9:
                return -float(value)
    raise RuntimeError("natural gradients did not converge")


def dense(name, gram, y):
    """Return the bound at a q that is prior times stated sites, and the bound of the best q."""
    everything = list(range(NUM_VERTICES))
    model, num_latents = model_of(name, gram, everything)
    data = data_of(y)
    rng = np.random.default_rng(1)
    shift = np.round(rng.normal(size=(NUM_VERTICES, num_latents)), 3)
    precision = np.round(rng.uniform(-0.1, 1.5, (NUM_VERTICES, num_latents)), 3)
    covariance = np.linalg.inv(np.linalg.inv(gram) + np.stack([np.diag(p) for p in precision.T]))
    mean = np.array(MEANS[num_latents])
    q_mu = np.einsum("lij,jl->il", covariance, shift - precision * mean)  # relative to the prior mean, as GPflow's is
    model.q_mu.assign(q_mu)
    model.q_sqrt.assign(np.linalg.cholesky(covariance))
    result = {"y": y, "mean": mean, "shift": shift, "precision": precision}
    result |= {"q_mu": q_mu, "q_sqrt": model.q_sqrt.numpy(), "elbo": float(model.elbo(data))}
    start_at_prior(model, gram, everything)
    result["best_elbo"] = maximise(model, data)
    best_mean, best_variance = model.predict_f(data[0])
    return result | {"best_mean": best_mean.numpy(), "best_variance": best_variance.numpy()}


def sparse(name, gram, y):
    """Return the best bound, and the q that reaches it, with few inducing vertices."""
    model, num_latents = model_of(name, gram, INDUCING)
    data = data_of(y)
    start_at_prior(model, gram, INDUCING)
    best = maximise(model, data)
    result = {"y": y, "mean": np.array(MEANS[num_latents]), "best_elbo": best}
    result |= {"q_mu": model.q_mu.numpy(), "q_sqrt": model.q_sqrt.numpy()}
    if name == "gaussian":
        parts = {"kernel": model.kernel, "mean_function": model.mean_function, "noise_variance": NOISE_VARIANCE}
        result["log_evidence"] = float(gpflow.models.GPR(data, **parts).log_marginal_likelihood())
        result["collapsed_bound"] = float(
            gpflow.models.SGPR(data, inducing_variable=model.inducing_variable, **parts).elbo()
        )
    return result


def robust_max():
    """Return expectations and probabilities at moments that are ordinary, tied, near-certain, narrow and wide."""
    mean = [
        [0.5, -0.2, 0.1],
        [0, 0, 0],
        [1, 1, -3],
        [8, 0, -2],
        [0, 9, 0],
        [2, 2, 2],
        [30, 0, 0],
        [0.3, 0.2, 0.1],
        [-4, 1, 5],
    ]
    variance = [
        [1, 0.5, 2],
        [1, 1, 1],
        [0.3, 0.3, 0.3],
        [0.1, 0.2, 0.3],
        [4, 1, 0.2],
        [1e-6] * 3,
        [1] * 3,
        [1e-4, 1e-3, 1e-2],
        [25, 9, 16],
    ]
    mean, variance = np.array(mean, dtype=float), np.array(variance, dtype=float)
    likelihood = LIKELIHOODS["robust-max"]()
    X = np.zeros((len(mean), 1))
    expectations = [
        likelihood.variational_expectations(X, mean, variance, np.full_like(X, label)).numpy()
        for label in range(NUM_CLASSES)
    ]
    probabilities, _ = likelihood.predict_mean_and_var(X, mean, variance)
    moments = {"mean": mean, "variance": variance}
    return moments | {"expectations": np.stack(expectations, axis=1), "probabilities": probabilities.numpy()}


def main():
    gpflow.config.set_default_jitter(0.0)
    place = np.linspace(0, 4, NUM_VERTICES)
    gram = np.round(1.5 * np.exp(-((place[:, None] - place) ** 2) / 2) + 0.1 * np.eye(NUM_VERTICES), 6)
    drawn = observations(gram)
    values = {
        "versions": {name: version(name) for name in ("gpflow", "tensorflow", "numpy")},
        "parameters": {"epsilon": EPSILON, "noise_variance": NOISE_VARIANCE, "scale": SCALE, "df": DF},
        "gram": gram,
        "inducing": INDUCING,
        "robust_max": robust_max(),
        "dense": {name: dense(name, gram, drawn[name]) for name in LIKELIHOODS},
        "sparse": {name: sparse(name, gram, drawn[name]) for name in SPARSE},
    }
    text = json.dumps(values, default=lambda array: array.tolist())
    Path(__file__).with_name("values.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
