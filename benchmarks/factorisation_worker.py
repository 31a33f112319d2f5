"""Time parts of the factorisation: ``python -m benchmarks.factorisation_worker objective REPEATS | sweep RATINGS``."""

from __future__ import annotations

import json
import resource
import statistics
import sys

import numpy as np
import pandas as pd
import scipy.linalg

from benchmarks.common import timed
from hypergauss import Spectrum, select_inducing_vertices
from hypergauss.datasets import fetch_movielens_100k
from hypergauss.factorisation import gibbs
from hypergauss.factorisation.kernel_columns import inducing_features
from hypergauss.factorisation.ratings import Ratings, tabulate, views
from hypergauss.factorisation.sides import PRIORS, make_sides
from hypergauss.kernels import Matern

FACTORS, RANK, SWEEPS, PER_USER = 10, 50, 3, 100


def objective(repeats: int) -> dict[str, float]:
    """Return seconds of one evaluation, medians: dense covariances, and inducing vertices."""
    train, _ = fetch_movielens_100k().official
    table = tabulate(train["user"], train["film"], train["rating"], bounds=None)
    H = table.hypergraph()
    spectrum = Spectrum.of(H)
    spectra = (spectrum, spectrum.dual())
    inducing = [
        side.vertex_rows(select_inducing_vertices(side, n, random_state=0))
        for side, n in zip((H, H.dual()), (45, 80), strict=True)
    ]
    rng = np.random.default_rng(0)
    dense_f = [rng.standard_normal((size, FACTORS)) for size in table.shape]
    sparse_y = [rng.standard_normal((len(rows), FACTORS)) for rows in inducing]

    def misfit(u: np.ndarray, w: np.ndarray) -> float:
        residual = table.values - np.einsum("nk,nk->n", u[table.user], w[table.item])
        return float(residual @ residual) / 2

    def dense() -> float:
        prior = 0.0
        for part, f in zip(spectra, dense_f, strict=True):
            root = np.linalg.cholesky(np.asarray(Matern(part, 1.5, 5.0).gram()) + 1e-9 * np.eye(len(f)))
            prior += float((scipy.linalg.solve_triangular(root, f, lower=True) ** 2).sum()) / 2
        return -misfit(*dense_f) - prior

    def sparse() -> float:
        rows = [
            inducing_features(Matern(part, 1.5, 5.0), Z) @ y
            for part, Z, y in zip(spectra, inducing, sparse_y, strict=True)
        ]
        return -misfit(*rows) - sum(float((y**2).sum()) / 2 for y in sparse_y)

    dense(), sparse()  # what they load is not timed
    times: dict[str, list[float]] = {"dense": [], "sparse": []}
    for _ in range(repeats):
        times["dense"].append(timed(dense)[0])
        times["sparse"].append(timed(sparse)[0])
    return {name: statistics.median(own) for name, own in times.items()}


def sweep(count: int) -> dict[str, float]:
    """Return the mean seconds of a sweep and the peak memory, on ratings of users in groups with tastes."""
    rng = np.random.default_rng(0)
    num_users, num_items = count // PER_USER, max(count // PER_USER // 5, 600)
    group = rng.integers(20, size=num_users)
    pairs = np.empty(0, dtype=np.int64)
    while len(pairs) < count:  # pairs drawn twice count once
        user = rng.integers(num_users, size=count)
        position = (rng.beta(1.0, 2.0, count) * num_items / 2).astype(np.int64)
        item = (position + group[user] * (num_items // 40)) % num_items
        pairs = np.unique(np.concatenate([pairs, user * num_items + item]))
    pairs = np.sort(rng.permutation(pairs)[:count])
    user, item = pairs // num_items, pairs % num_items
    tastes = rng.standard_normal((20, num_items)).astype(np.float32)
    values = tastes[group[user], item] + rng.standard_normal(len(user))
    table = Ratings(pd.RangeIndex(num_users), pd.RangeIndex(num_items), user, item, values)
    sides = make_sides(
        table, kernel="matern", rank=RANK, size_exponent=0.0, priors=PRIORS, relations=({}, {}), dtype=np.float32
    )
    scaled = ((values - values.mean()) / values.std()).astype(np.float32)
    problem = gibbs.Problem(sides, views(table, np.float32), scaled, None, FACTORS, True, 1e-3, individual=True)
    state = gibbs.sweep(problem, gibbs.start(problem, rng), rng)

    def several() -> None:
        here = state
        for _ in range(SWEEPS):
            here = gibbs.sweep(problem, here, rng)

    seconds, _ = timed(several)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds / SWEEPS, "peak_gb": peak, "ratings": len(user), "users": num_users, "items": num_items}


if __name__ == "__main__":
    job = {"objective": objective, "sweep": sweep}[sys.argv[1]]
    print(json.dumps(job(int(sys.argv[2]))))
