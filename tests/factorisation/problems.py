"""Small problems of known make."""

import numpy as np

from hypergauss.factorisation import gibbs
from hypergauss.factorisation.ratings import tabulate, views
from hypergauss.factorisation.sides import levels, stack_relations
from hypergauss.factorisation.spectral_prior import Grid, Modes, Side
from hypergauss.spectrum import Spectrum

GRID = Grid(np.array([1.5, np.inf, 0.5]), np.array([2.0, 4.0, 1.0]), np.log([0.5, 0.3, 0.2]), 0)


def random_ratings(num_users, num_items, share, seed, *, n_factors=2):
    """Return names of users and items and ratings, a factorisation plus noise, for a random share of the pairs."""
    rng = np.random.default_rng(seed)
    u, w = rng.standard_normal((num_users, n_factors)), rng.standard_normal((num_items, n_factors))
    full = (
        3
        + 0.6 * u @ w.T
        + 0.5 * rng.standard_normal((num_users, 1))
        + 0.4 * rng.standard_normal((num_users, num_items))
    )
    user, item = np.nonzero(rng.random(full.shape) < share)
    return user, item, full[user, item]


def make_problem(
    num_users=30, num_items=20, *, share=0.3, seed=0, n_factors=1, grid=GRID, relations=({}, {}), individual=False
):
    """Return a problem in double precision, solved tightly, and its ratings."""
    user, item, values = random_ratings(num_users, num_items, share, seed)
    table = tabulate(user, item, values, bounds=None)
    H = table.hypergraph()
    spectrum = Spectrum.of(H)
    parts = zip((spectrum, spectrum.dual()), levels(H), (table.users, table.items), relations, strict=True)
    sides = [
        Side(Modes.of(part, null, grid, float), stack_relations(index, named, float))
        for part, null, index, named in parts
    ]
    scaled = (table.values - table.values.mean()) / table.values.std()
    problem = gibbs.Problem(tuple(sides), views(table, float), scaled, None, n_factors, True, 1e-11, individual)
    return problem, table
