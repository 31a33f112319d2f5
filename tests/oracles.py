"""The formulas once more, written the long way: loops, dense matrices, SciPy."""

import numpy as np
from scipy.integrate import quad, trapezoid
from scipy.stats import multivariate_normal, norm


def zhou_laplacian(H, size_exponent=0.0):
    """Return I - D_v^-1/2 R W D_e^-1 R' D_v^-1/2, entry by entry."""
    R = H.incidence.toarray()
    N, M = R.shape
    sizes = [sum(R[v, e] for v in range(N)) for e in range(M)]
    w = [H.weights[e] * sizes[e] ** size_exponent if sizes[e] > 0 else 0.0 for e in range(M)]
    degrees = [sum(w[e] * R[v, e] for e in range(M)) for v in range(N)]
    laplacian = np.eye(N)
    for u in range(N):
        for v in range(N):
            for e in range(M):
                if R[u, e] > 0 and R[v, e] > 0:
                    laplacian[u, v] -= w[e] * R[u, e] * R[v, e] / sizes[e] / np.sqrt(degrees[u] * degrees[v])
    return laplacian


def graph_laplacian(W, *, normalised):
    """Return D - W, or I - D^-1/2 W D^-1/2, entry by entry."""
    N = len(W)
    degrees = [sum(W[u, v] for v in range(N)) for u in range(N)]
    laplacian = np.zeros((N, N))
    for u in range(N):
        for v in range(N):
            if not normalised:
                laplacian[u, v] = (degrees[u] if u == v else 0.0) - W[u, v]
            elif W[u, v] > 0:
                laplacian[u, v] = (u == v) - W[u, v] / np.sqrt(degrees[u] * degrees[v])
            else:
                laplacian[u, v] = float(u == v)
    return laplacian


def other_laplacian(H, name, size_exponent=0.0):
    """Return one of Bolla's, Rodriguez', Carletti's or Chung's Laplacians by its definition, hyperedge by hyperedge."""
    R = H.incidence.toarray()
    N, M = R.shape
    sizes = R.sum(axis=0)
    w = [H.weights[e] * sizes[e] ** size_exponent if sizes[e] > 0 else 0.0 for e in range(M)]
    members = [np.flatnonzero(R[:, e] > 0) for e in range(M)]
    if name == "bolla":
        # f' L f = sum over hyperedges of w times the spread of f around its mean there.
        laplacian = np.zeros((N, N))
        for e in range(M):
            if sizes[e] > 0:
                share = R[:, e] / sizes[e]
                laplacian += w[e] * (np.diag(R[:, e]) - sizes[e] * np.outer(share, share))
        return laplacian
    if name in ("rodriguez", "carletti"):
        W = np.zeros((N, N))
        for e in range(M):
            for u in members[e]:
                for v in members[e]:
                    if u != v:
                        W[u, v] += w[e] * (len(members[e]) - 1 if name == "carletti" else 1) * R[u, e] * R[v, e]
        return graph_laplacian(W, normalised=name == "carletti")
    P = np.zeros((N, N))
    for u in range(N):
        own = [e for e in range(M) if R[u, e] > 0]
        for e in own:
            P[u] += w[e] / sum(w[f] for f in own) * R[:, e] / sizes[e]
    laplacian, left = np.eye(N), set(np.flatnonzero(P.any(axis=1)).tolist())
    while left:  # one component after another: its stationary distribution is the eigenvector of eigenvalue 1
        part = np.flatnonzero(np.linalg.matrix_power(P + np.eye(N), N)[min(left)] > 0)
        left -= set(part.tolist())
        own = P[np.ix_(part, part)]
        values, vectors = np.linalg.eig(own.T)
        pi = np.abs(np.real(vectors[:, np.argmin(np.abs(values - 1))]))
        walk = np.sqrt(pi)[:, None] * own / np.sqrt(pi)[None, :]
        laplacian[np.ix_(part, part)] -= (walk + walk.T) / 2
    return laplacian


def filtered(laplacian, phi):
    """Return phi(laplacian) by its eigendecomposition."""
    values, vectors = np.linalg.eigh(laplacian)
    return vectors @ np.diag(phi(values)) @ vectors.T


def with_mean_variance(K, variance):
    """Return the covariance scaled to a mean diagonal of ``variance``."""
    return K * variance / np.trace(K) * len(K)


def log_evidence(K, rows, y, noise_variance, mean):
    """Return the log density of measurements y (m, L) of vertices ``rows``, repeated ones kept apart."""
    covariance = K[np.ix_(rows, rows)] + np.diag(np.broadcast_to(noise_variance, len(rows)))
    return sum(
        multivariate_normal.logpdf(column, mean=np.full(len(rows), centre), cov=covariance)
        for column, centre in zip(y.T, mean, strict=True)
    )


def posterior(K, rows, y, noise_variance, mean):
    """Return the posterior mean (N, L) and covariance (N, N) at all vertices, from measurements kept apart."""
    covariance = K[np.ix_(rows, rows)] + np.diag(np.broadcast_to(noise_variance, len(rows)))
    gain = np.linalg.solve(covariance, K[rows]).T
    return mean + gain @ (y - mean), K - gain @ K[rows]


def central_differences(f, x, step=1e-5):
    """Return the gradient of f at x by central differences."""
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        shift = step * np.eye(len(x))[i]
        gradient[i] = (f(x + shift) - f(x - shift)) / (2 * step)
    return gradient


def gaussian_expectation(g, mean, variance):
    """Return E g(f) for independent f_l ~ N(mean_l, variance_l), by the trapezoidal rule on a fine grid of all latents.

    g takes points of shape (m, L) to values of shape (m,).
    """
    # Steps of three latents are a quarter wide, and what lies beyond 8 standard deviations weighs 1e-15.
    end, size = {1: (10.0, 40_001), 2: (10.0, 401), 3: (8.0, 65)}[len(mean)]
    z = np.linspace(-end, end, size)
    grid = np.stack(np.meshgrid(*[z] * len(mean), indexing="ij"), axis=-1).reshape(-1, len(mean))
    points = grid * np.sqrt(variance) + mean
    values = np.asarray(g(points)).reshape([len(z)] * len(mean))
    for _ in mean:  # the last latent first
        values = trapezoid(values * norm.pdf(z), x=z)
    return float(values)


def probability_of_largest(c, mean, variance):
    """Return P(f_c > all other f_j) for independent f_l ~ N(mean_l, variance_l), by adaptive quadrature over f_c."""
    std, others = np.sqrt(variance), np.arange(len(mean)) != c

    def integrand(f):
        return norm.pdf(f, mean[c], std[c]) * norm.cdf(f, mean[others], std[others]).prod()

    ends = mean[c] - 10 * std[c], mean[c] + 10 * std[c]
    return quad(integrand, *ends, points=np.clip(mean, *ends), epsabs=1e-12, limit=500)[0]
