"""Gibbs sampling agrees with a sampler of another make: dense covariances, one row a rating, other conditionals."""

import arviz
import numpy as np

from hypergauss.factorisation import gibbs
from hypergauss.factorisation.sides import levels
from hypergauss.factorisation.spectral_prior import RATE, SHAPE
from tests.factorisation.problems import GRID, make_problem

WARM_UP, CHAINS = 60, 2
#: A sweep of the sampler under test takes four times as long as one of the other.
OURS, THEIRS = 240, 800


def dense_kernels(problem, side):
    """Return the inverse of kappa(Delta) and the logarithm of its determinant at each point of the grid.

    From eigenvectors of the Laplacian in full.
    """
    dense = problem.views[side].pattern.toarray()
    A = dense / np.sqrt(dense.sum(axis=1, keepdims=True)) / np.sqrt(dense.sum(axis=0, keepdims=True))
    eigenvalues, vectors = np.linalg.eigh(np.eye(len(A)) - A @ A.T)
    at_large = (eigenvalues >= 1e-8) & ((vectors**4).sum(axis=0) <= len(A) ** -0.5)
    eigenvalues = np.maximum(eigenvalues, eigenvalues[at_large].min())
    kernels = []
    for nu, lengthscale in zip(GRID.nu, GRID.lengthscale, strict=True):
        rate = lengthscale**2 * eigenvalues / 2
        phi = np.exp(-rate) if np.isinf(nu) else (1 + rate / nu) ** -nu
        kappa = phi / phi.mean()
        kernels.append(((vectors / kappa) @ vectors.T, np.log(kappa).sum()))
    return kernels


class DenseGibbs:
    """The model in full: f = alpha (s + E g), each piece from its own conditional, filters not collapsed over v."""

    def __init__(self, problem, table, seed):
        self.rng = np.random.default_rng(seed)
        self.y, self.rows = problem.values, (table.user, table.item)
        H = table.hypergraph()
        self.kernels = [dense_kernels(problem, side) for side in (0, 1)]
        self.levels = [null.toarray() for null in levels(H)]
        sizes = (len(table.users), len(table.items))
        self.s = [0.3 * self.rng.standard_normal((n, 2)) for n in sizes]
        self.g = [np.zeros((E.shape[1], 2)) for E in self.levels]
        self.alpha = [np.ones(2) for _ in sizes]
        self.v, self.v0 = [np.full(2, 0.3) for _ in sizes], [np.full(2, 0.3) for _ in sizes]
        self.point = [np.zeros(2, int) for _ in sizes]
        self.mu, self.tau = 0.0, 1.0

    def factors(self, side):
        return self.alpha[side] * (self.s[side] + self.levels[side] @ self.g[side])

    def eta(self):
        f = [self.factors(side)[self.rows[side]] for side in (0, 1)]
        return self.mu + f[0][:, 0] + f[1][:, 0] + f[0][:, 1] * f[1][:, 1]

    def inverse_gamma(self, squares, count):
        return (RATE + squares / 2) / self.rng.gamma(SHAPE + count / 2)

    def normal(self, precision, linear):
        root = np.linalg.cholesky(precision)
        return np.linalg.solve(root.T, np.linalg.solve(root, linear) + self.rng.standard_normal(len(linear)))

    def sweep(self):
        for side in (0, 1):
            other = self.factors(1 - side)[self.rows[1 - side]]
            n, E = len(self.s[side]), self.levels[side]
            offset = self.mu + other[:, 0]
            for k in (0, 1):  # one column after another, unlike the sampler under test
                z = np.ones(len(self.y)) if k == 0 else other[:, 1]
                rest = (self.factors(side)[self.rows[side]] * np.stack([np.ones_like(z), other[:, 1]], 1))[:, 1 - k]
                target = self.y - offset - rest
                own = np.zeros((len(self.y), n))
                own[np.arange(len(self.y)), self.rows[side]] = self.alpha[side][k] * z
                design = np.concatenate([own, own @ E], axis=1)
                prior = np.zeros((design.shape[1],) * 2)
                inverse, _ = self.kernels[side][self.point[side][k]]
                prior[:n, :n] = inverse / self.v[side][k]
                prior[n:, n:] = np.eye(E.shape[1]) / self.v0[side][k]
                x = self.normal(prior + self.tau * design.T @ design, self.tau * design.T @ target)
                self.s[side][:, k], self.g[side][:, k] = x[:n], x[n:]
                self.v[side][k] = self.inverse_gamma(x[:n] @ inverse @ x[:n], n)
                self.v0[side][k] = self.inverse_gamma(x[n:] @ x[n:], len(x) - n)
                squares = [x[:n] @ inverse @ x[:n] / self.v[side][k] for inverse, _ in self.kernels[side]]
                log_p = GRID.log_weights - [
                    (square + log_det) / 2 for square, (_, log_det) in zip(squares, self.kernels[side], strict=True)
                ]
                self.point[side][k] = (log_p + self.rng.gumbel(size=3)).argmax()
                column = (design @ x) / self.alpha[side][k]
                precision = 1 + self.tau * column @ column
                self.alpha[side][k] = self.rng.normal(self.tau * column @ target / precision, precision**-0.5)
        residual = self.y - (self.eta() - self.mu)
        self.mu = self.rng.normal(residual.mean(), (self.tau * len(self.y)) ** -0.5)
        squares = ((residual - self.mu) ** 2).sum()
        self.tau = self.rng.gamma(1 + len(self.y) / 2) / (1 + squares / 2)


def summaries_of(eta, tau, f):
    """Return what can be compared: predictions, the noise, and the size of factors' products.

    Sizes are on a scale without heavy tails; users' factors alone could grow at the expense of items'. Biases alone
    trade with means of factors, which the dense sampler does too slowly to tell: 16,000 draws are worth some fifty.
    """
    squares = [np.log((part**2).mean(axis=0)) for part in f]
    return np.concatenate([eta, [tau, squares[0][1] + squares[1][1]]])


def ours(problem, table):
    chains = []
    for seed in range(CHAINS):
        rng = np.random.default_rng(seed)
        state, kept = gibbs.start(problem, rng), []
        for number in range(WARM_UP + OURS):
            state = gibbs.sweep(problem, state, rng)
            if number >= WARM_UP:
                f = problem.factors(state)
                u, w = f[0][table.user], f[1][table.item]
                eta = state.mean + u[:, 0] + w[:, 0] + u[:, 1] * w[:, 1]
                kept.append(summaries_of(eta, state.precision, f))
        chains.append(kept)
    return np.array(chains)


def theirs(problem, table):
    chains = []
    for seed in range(CHAINS):
        sampler, kept = DenseGibbs(problem, table, 100 + seed), []
        for number in range(WARM_UP + THEIRS):
            sampler.sweep()
            if number >= WARM_UP:
                kept.append(summaries_of(sampler.eta(), sampler.tau, [sampler.factors(s) for s in (0, 1)]))
        chains.append(kept)
    return np.array(chains)


def test_moments_agree_with_a_dense_sampler_within_monte_carlo_error():
    problem, table = make_problem(20, 15, share=0.6, seed=5)
    means, errors, spreads = [], [], []
    for draws in (ours(problem, table), theirs(problem, table)):
        data = arviz.convert_to_dataset(draws)
        means.append(draws.mean(axis=(0, 1)))
        errors.append(arviz.mcse(data)["x"].to_numpy())
        spreads.append(np.log(draws.std(axis=(0, 1))))
        assert float(arviz.rhat(data)["x"].max()) < 1.1
    z = (means[0] - means[1]) / np.hypot(*errors)
    assert np.abs(z).max() < 4.5
    assert (z**2).mean() < 2.0  # and not one-sided: the predictions as a whole agree
    assert np.abs(spreads[0] - spreads[1])[:-2].max() < 0.25
